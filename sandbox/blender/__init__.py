# SPDX-License-Identifier: GPL-3.0-or-later
"""Decides which members, functions and operators of Blender a script may use, and guards each use.

Scripts hold Blender's own objects, not wrappers, so that they compare, hash and pass to Blender as always. Each read
and write of a member is guarded by a decision from the allow-lists in `facts`, made once per (type, name). `host` is
the guard of one run and `access` decides. A member whose new value needs a check has a function in `writers`, a
function whose arguments need a check one in `calls`, and an operator that needs care a line in `operators`.
"""
