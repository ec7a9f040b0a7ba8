# SPDX-License-Identifier: GPL-3.0-or-later
"""Which members, functions and operators of Blender a script may use, and how each is reached.

Scripts hold Blender's own objects, not wrappers, so that they compare, hash and pass to Blender as always; what is
guarded is each read and write of a member, decided once per (type, name) from the allow-lists in `facts`. `host` is the
guard of one run and `access` decides; a member whose new value is looked at has a function in `writers`, a function
whose arguments are looked at one in `calls`, and an operator that needs care a line in `operators`.
"""
