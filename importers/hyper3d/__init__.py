# SPDX-License-Identifier: GPL-3.0-or-later
"""Hyper3D Rodin: generates models from text or pictures; the user's account pays for them."""
