# SPDX-License-Identifier: GPL-3.0-or-later
"""Renders pictures and animations in a separate Blender process, so that the user can continue to work.

`child` runs in that process; the other modules start it, follow its progress and keep its results.
"""
