# SPDX-License-Identifier: GPL-3.0-or-later
"""Hyper3D Rodin: models generated from text or pictures, for credits of the user's own account."""
