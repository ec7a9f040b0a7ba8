# SPDX-License-Identifier: GPL-3.0-or-later
"""Helpers that tests share: processes of Blender, forks of a warm one, ports and folders."""
