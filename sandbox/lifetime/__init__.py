# SPDX-License-Identifier: GPL-3.0-or-later
"""Invalidates a script's references when Blender frees what they point to.

`layout` finds where Blender's references keep their pointers; `memory` alone writes there, and checks each reference
first. `stale` decides when to look at references, `references` which types of values are references, and `held` finds
those of the script. `existing` and `parts` list what a data-block has now, `bmesh` what a BMesh has. When Blender
removes a data-block, it invalidates the references to the data-block and none to its parts; so `stale` notes before
the removal whose parts the script holds. A function or operator of Blender's that frees something is a line in
`facts/members.json`.
"""
