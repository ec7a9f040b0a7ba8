# SPDX-License-Identifier: GPL-3.0-or-later
"""Admits clients: their tokens and headers, the list of admitted clients, and how a client finds this Blender.

No sockets and no `bpy`.
"""
