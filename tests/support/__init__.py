# SPDX-License-Identifier: GPL-3.0-or-later
"""Helpers that tests share, in a folder for each purpose; helpers without such a purpose are here."""
