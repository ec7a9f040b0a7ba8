# SPDX-License-Identifier: GPL-3.0-or-later
"""What becomes of a script's references when Blender frees what they point to.

`layout` finds where Blender's references keep their pointers; `memory` alone writes there, and checks each reference
before it does. `stale` decides when references are looked at, `references` which values are some, `held` which of them
the script has; `existing` and `parts` say what a data-block has now, `bmesh` the same of a BMesh. Of a data-block that
is removed, Blender marks the reference to itself and none to its parts, so it is noted before whose parts the script
holds. A function or operator of Blender's that frees something is a line in `facts/members.json`.
"""
