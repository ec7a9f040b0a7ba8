# SPDX-License-Identifier: GPL-3.0-or-later
"""Confined processes: rehearsals with a child that a test chooses, and what attacks do to them."""
