# SPDX-License-Identifier: GPL-3.0-or-later
"""Sketchfab: models of many authors under as many licences; downloading needs the user's API token."""
