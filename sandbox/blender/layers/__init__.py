# SPDX-License-Identifier: GPL-3.0-or-later
"""What a script may not do with layers of data-blocks, as Blender would crash: `names`, and types, in `matrices`.

A rule about another property of layers gets a file here. `lifetime.layers` keeps references to layers valid.
"""
