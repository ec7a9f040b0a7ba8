# SPDX-License-Identifier: GPL-3.0-or-later
"""What every room uses and what knows none of them: no network, no policy of ours, and no `bpy` but in
`folders` and `main_thread`.

A module belongs here when a room without Blender could want it: settings, errors, the journal, jobs, traces. What
reaches outside is handed in by whoever starts the bridge.
"""
