# SPDX-License-Identifier: GPL-3.0-or-later
"""Functions of Blender's that need a look: at what they are given before the call, at what they freed after it.

`calls` calls a function with both. A function whose arguments have to be looked at gets a check in `checks`, one that
is done in another way altogether a function in `instead`, and one that every struct has a function in `methods`.
"""
