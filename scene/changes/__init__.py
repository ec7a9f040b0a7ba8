# SPDX-License-Identifier: GPL-3.0-or-later
"""What differs between two states of a file, in words and values that a person can read."""
