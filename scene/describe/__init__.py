# SPDX-License-Identifier: GPL-3.0-or-later
"""Blender's data as plain data that an assistant reads."""
