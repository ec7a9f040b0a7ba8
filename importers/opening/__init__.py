# SPDX-License-Identifier: GPL-3.0-or-later
"""Open foreign files in a confined Blender, which writes a clean .blend."""
