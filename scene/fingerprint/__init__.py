# SPDX-License-Identifier: GPL-3.0-or-later
"""Digests that say whether the scene is still the same: a quick one, a thorough one, and one of a saved file."""
