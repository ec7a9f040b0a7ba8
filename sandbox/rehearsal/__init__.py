# SPDX-License-Identifier: GPL-3.0-or-later
"""A script runs first where it can do no harm: on a copy of the scene, in a confined Blender, and is reported on.

`prepare` takes the copy, on Blender's main thread; `rehearse` does the rest, on any other one.
"""
