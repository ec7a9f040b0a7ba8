# SPDX-License-Identifier: GPL-3.0-or-later
"""Rewrites a script's syntax so that each step that needs a guard calls one. Knows neither Blender nor the guards.

`compile` begins; `statements`, `expressions`, `members`, `operations` and `matching` rewrite the tree, with what
`analysis` knows about the script's values. `hooks`, `names` and `builtin_methods` have the names that this room and
the guards share. A new rule about syntax is a `visit_…` method; a name that scripts may not use is a line in `names`.
"""
