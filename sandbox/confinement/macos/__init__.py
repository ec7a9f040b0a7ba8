# SPDX-License-Identifier: GPL-3.0-or-later
"""Confines processes on macOS by `sandbox-exec`. Written from the documentation; not tried on a Mac yet."""
