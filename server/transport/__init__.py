# SPDX-License-Identifier: GPL-3.0-or-later
"""Bytes to calls: frames, turns between connections, and what connections may hold together."""
