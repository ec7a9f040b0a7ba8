# SPDX-License-Identifier: GPL-3.0-or-later
"""Confined processes for tests: rehearsals with a child that a test chooses, and the effects of attacks."""
