# SPDX-License-Identifier: GPL-3.0-or-later
"""Confines processes on Linux by the kernel's own means, through `ctypes`. Standard library only.

`launcher.main` runs in the process to be confined, before it becomes the command.
"""
