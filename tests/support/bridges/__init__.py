# SPDX-License-Identifier: GPL-3.0-or-later
"""Servers to speak to: a Blender that serves, the server without Blender, the protocol alone, and scripted ones."""
