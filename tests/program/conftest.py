# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests of real Blender programs without a window, in the Debian roots; run by `make test-matrix`.

The other tests run on Blender as a Python module. A program prints a log, finds its own files, and starts itself
again for what is confined.
"""
