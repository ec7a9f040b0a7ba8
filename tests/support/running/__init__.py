# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs forks of this Blender and fresh ones; finds processes, ports and threads of this machine."""
