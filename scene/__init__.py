# SPDX-License-Identifier: GPL-3.0-or-later
"""What is in Blender, as data. Everything here runs on Blender's main thread."""
