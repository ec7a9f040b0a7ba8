# SPDX-License-Identifier: GPL-3.0-or-later
"""Servers for tests: a serving Blender, the server without Blender, the protocol alone, and scripted ones."""
