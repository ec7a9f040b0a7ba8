# SPDX-License-Identifier: GPL-3.0-or-later
"""Opening foreign files: in a confined Blender, which writes a clean .blend."""
