# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs a script from Python: the name that other programs and extensions import; `run.execute` does the work."""

from __future__ import annotations

from .run.execute import execute_blender_code

__all__ = ("execute_blender_code",)
