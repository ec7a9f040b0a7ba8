# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs one script, and keeps it from everything else. Each room says at its top what belongs there."""
