# SPDX-License-Identifier: GPL-3.0-or-later
"""Guards functions of Blender's: checks their arguments before the call, and what they freed after it.

`calls` calls a function with both checks. A function whose arguments need a check has one in `checks`, a function that
scripts get in another form is in `instead`, and the functions that every struct has are in `methods`.
"""
