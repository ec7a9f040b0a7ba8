# SPDX-License-Identifier: GPL-3.0-or-later
"""The guards that a rewritten script calls, and the values that they give to it.

A value of ours that a script may hold is a facade: see `facade.py`. Add a new kind of value there, and its guards for
attributes, items, operators and classes in the other files. Nothing in here imports `bpy`.
"""
