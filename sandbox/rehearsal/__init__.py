# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs a script first on a copy of the scene, in a confined Blender, where it can do no harm, and reports on it.

`prepare` makes the copy, on Blender's main thread; `rehearse` does the rest, on another thread. `ahead` has a large
scene opened before the next rehearsal. In the confined Blender, `child` and `open_scene` do the work.
"""
