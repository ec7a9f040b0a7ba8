# SPDX-License-Identifier: GPL-3.0-or-later
"""Blender's window on a virtual screen, driven and read as a user does; panels without a window."""
