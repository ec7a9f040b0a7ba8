# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs one script, from its text to its result: gates, limits, undo step, clean-up, record.

A new limit of a run, or something that has to hold from a script's first to its last instruction, belongs here. What
a single function of a module may do belongs in `stdlib`, what a member of Blender's may do in `blender`.
"""
