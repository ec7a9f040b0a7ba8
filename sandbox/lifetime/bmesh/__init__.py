# SPDX-License-Identifier: GPL-3.0-or-later
"""Invalidates references into a BMesh: to its elements, loops, layers and values, and to the BMesh itself.

A new way to free or move something of a BMesh belongs in `removals` if it removes single elements, else in `layers`.
"""
