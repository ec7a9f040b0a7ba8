# SPDX-License-Identifier: GPL-3.0-or-later
"""Rewrites a script's syntax so that every step that needs a guard names one. Knows no Blender and no guard.

`compile` begins; `statements`, `expressions`, `members`, `operations` and `matching` rewrite, by what `analysis` knows
of the script's values.
`hooks`, `names` and `builtin_methods` are the words that the guards answer to. A new rule about syntax is a `visit_…`
method; a name that scripts may not use is a line in `names`.
"""
