# SPDX-License-Identifier: GPL-3.0-or-later
"""The Model Context Protocol as pure state machines: no sockets, no event loop, no clock, no `bpy`."""
