# SPDX-License-Identifier: GPL-3.0-or-later
"""Guards for the attributes, methods and items of a value: what a script may read, and what it may set.

A method whose arguments need a check gets a function in `methods`; items of a new kind of value belong in `items`.
"""
