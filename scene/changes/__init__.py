# SPDX-License-Identifier: GPL-3.0-or-later
"""Compare two states of a file and report the difference in words and values that a person can read."""
