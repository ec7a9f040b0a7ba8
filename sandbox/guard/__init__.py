# SPDX-License-Identifier: GPL-3.0-or-later
"""The guards that a rewritten script calls, and what they hand out.

A value of ours that a script may hold is a facade: see `facade.py`. Add a new kind of value there, and the guards of
attributes, items, operators and classes beside it. Nothing in here imports `bpy`.
"""
