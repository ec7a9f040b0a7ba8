# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads and describes what is in Blender, as data. Everything here runs on Blender's main thread."""
