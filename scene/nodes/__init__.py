# SPDX-License-Identifier: GPL-3.0-or-later
"""Node trees as plain data: read a tree, plan a new one, and compare nodes with new nodes."""
