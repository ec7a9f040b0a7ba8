# SPDX-License-Identifier: GPL-3.0-or-later
"""Poly Haven: HDRIs, textures and models under CC0, without a key."""
