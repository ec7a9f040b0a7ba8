# SPDX-License-Identifier: GPL-3.0-or-later
"""Confinement on macOS by its sandbox, `sandbox-exec`. Written by the documentation; not tried on a Mac yet."""
