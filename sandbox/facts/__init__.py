# SPDX-License-Identifier: GPL-3.0-or-later
"""Reviewed facts about Python and Blender as JSON, each with its reason, and the functions that read them.

A new case is a line in a JSON file. The rooms that read these facts decide by them.
"""
