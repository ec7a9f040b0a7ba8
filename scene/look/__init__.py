# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes pictures of the scene: the viewport, and sheets of several views with names."""
