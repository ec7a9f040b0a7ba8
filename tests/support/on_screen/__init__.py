# SPDX-License-Identifier: GPL-3.0-or-later
"""Drives and reads Blender's window on a virtual screen, as a user does; draws panels without a window."""
