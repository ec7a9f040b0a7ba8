# SPDX-License-Identifier: GPL-3.0-or-later
"""Helpers that tests share: a folder for each purpose, whose first line says it; beside them what fits none."""
