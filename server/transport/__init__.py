# SPDX-License-Identifier: GPL-3.0-or-later
"""Turns bytes into calls: one port for WebSocket and HTTP, frames, fair turns, and limits over all connections."""
