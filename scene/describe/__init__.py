# SPDX-License-Identifier: GPL-3.0-or-later
"""Describes Blender's data as plain data for an assistant."""
