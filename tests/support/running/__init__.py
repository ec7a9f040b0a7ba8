# SPDX-License-Identifier: GPL-3.0-or-later
"""Forks of this Blender and fresh ones; processes, ports and threads of this machine."""
