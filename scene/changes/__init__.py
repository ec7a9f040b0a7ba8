# SPDX-License-Identifier: GPL-3.0-or-later
"""Compares two states of a file and reports the difference in words and values that a person can read."""
