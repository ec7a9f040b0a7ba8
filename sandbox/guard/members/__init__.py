# SPDX-License-Identifier: GPL-3.0-or-later
"""Attributes, methods and items of a value: what a script gets when it reads one, and what is looked at before it sets
one.

A method that needs a look at its arguments gets a function in `methods`; items of a new kind of value are in `items`.
"""
