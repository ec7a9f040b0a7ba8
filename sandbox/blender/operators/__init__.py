# SPDX-License-Identifier: GPL-3.0-or-later
"""`bpy.ops` for scripts.

`ops` checks an operator's arguments and runs it; `instead` has operators that do something else in a script; `crashing`
has those that crash Blender in a known state. To allow an operator, see docs/developing.md.
"""
