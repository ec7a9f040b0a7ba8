# SPDX-License-Identifier: GPL-3.0-or-later
"""Operators, panels and menus that a script defines: they exist in its run alone, and Blender never gets them.

`classes` has their bases and registers them; `operators` runs an operator that the script calls; `values` has the
`bpy.props` of operators. Nothing here calls `bpy.utils.register_class`.
"""
