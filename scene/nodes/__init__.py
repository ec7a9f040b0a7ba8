# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads node trees as plain data, plans new ones, and compares nodes with new nodes."""
