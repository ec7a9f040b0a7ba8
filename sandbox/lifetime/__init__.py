# SPDX-License-Identifier: GPL-3.0-or-later
"""What becomes of a script's references when Blender frees what they point to.

`memory` is the only module that reads or writes the memory of Blender's references, and checks each before it writes.
`stale` decides when references are looked at; `existing` and `parts` say what a data-block has now, the `bmesh_`
modules the same of a BMesh. A function or operator of Blender's that frees something is a line in `freeing`.
"""
