# SPDX-License-Identifier: GPL-3.0-or-later
"""Plain values of Python: what a script may do with each unguarded, how much work a value is, and its text.

A type whose values a script may hold gets a line in `plain`; a type that could crash or be changed gets a class of
ours, as in `deep_nesting`, `counter` and `fractions`.
"""
