# SPDX-License-Identifier: GPL-3.0-or-later
"""This process and its threads, and whether another process lives."""
