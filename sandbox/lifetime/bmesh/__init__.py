# SPDX-License-Identifier: GPL-3.0-or-later
"""What becomes of references into a BMesh: its values, elements, loops and itself.

A new way to free or move something of a BMesh is noted in `removals`, if it removes single elements, or in `layers`.
"""
