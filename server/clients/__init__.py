# SPDX-License-Identifier: GPL-3.0-or-later
"""Who may come in, and how they find this Blender: what of a client's own words counts, whom the list of clients still
admits, and where each of them finds the server. Nothing here touches sockets or `bpy`.
"""
