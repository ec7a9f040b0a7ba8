# SPDX-License-Identifier: GPL-3.0-or-later
"""What can be read in a script before it runs: which names it binds, to what kinds of values, and what it calls.

What is known of Blender's structs is a line in `structs`; what is known of functions and operators is in `inference`.
"""
