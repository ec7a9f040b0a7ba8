# SPDX-License-Identifier: GPL-3.0-or-later
"""Properties of Blender's that need more than the native read or write, and custom properties.

A property whose new value has to be looked at gets a function in `writers`, one whose value is more than a number or a
text a function in `readers`.
"""
