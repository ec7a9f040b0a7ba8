# SPDX-License-Identifier: GPL-3.0-or-later
"""What workers run: each file goes along in a bundle, as `worker.py`, and is started by a worker's Blender."""
