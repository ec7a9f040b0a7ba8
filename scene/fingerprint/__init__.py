# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes digests that show whether the scene has changed: a quick one, a thorough one, and one of a saved file."""
