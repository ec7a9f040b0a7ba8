# SPDX-License-Identifier: GPL-3.0-or-later
"""Code that every other package uses and that imports none of them: no network, no policy, and `bpy` only in
`folders` and `main_thread`.

A module belongs here when a package without Blender could need it: settings, errors, the journal, jobs, traces. The
code that starts the bridge passes in every function that reaches outside this process.
"""
