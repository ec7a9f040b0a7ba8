# SPDX-License-Identifier: GPL-3.0-or-later
"""Properties of Blender's that need more than the native read or write, and custom properties.

A property whose new value needs a check has a function in `writers`, a property whose value is more than a number or a
text a function in `readers`.
"""
