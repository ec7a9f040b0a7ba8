# SPDX-License-Identifier: GPL-3.0-or-later
"""Node trees as plain data: read, planned, and compared with what a new node is like."""
