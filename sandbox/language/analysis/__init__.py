# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads in a script before it runs: which names it binds, to what kinds of values, and what it calls.

`structs` has a line for each fact about Blender's structs; `inference` has the facts about functions and operators.
"""
