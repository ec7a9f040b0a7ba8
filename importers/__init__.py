# SPDX-License-Identifier: GPL-3.0-or-later
"""Import assets from Poly Haven, Sketchfab and Hyper3D Rodin: complete, at the right size and with their credit."""
