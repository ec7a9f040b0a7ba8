# SPDX-License-Identifier: GPL-3.0-or-later
"""Scenes as texts that can be compared, and scenes with something of everything."""
