# SPDX-License-Identifier: GPL-3.0-or-later
"""Operators, panels and menus that a script writes: they exist in its run alone, and Blender never learns of them.

`classes` has what they derive from and what registering them does; `operators` runs an operator that the script calls;
`values` has the `bpy.props` of operators. Nothing here calls `bpy.utils.register_class`.
"""
