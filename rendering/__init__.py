# SPDX-License-Identifier: GPL-3.0-or-later
"""Renders pictures and animations in a Blender of their own, beside the one that the user works in.

`child` is what runs there; the other modules start it, follow it and keep what it has made.
"""
