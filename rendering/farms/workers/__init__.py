# SPDX-License-Identifier: GPL-3.0-or-later
"""The scripts of workers: a bundle has one of these files as `worker.py`, which a worker's Blender starts."""
