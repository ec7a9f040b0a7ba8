# SPDX-License-Identifier: GPL-3.0-or-later
"""Bytes to calls: one port for WebSocket and HTTP, frames, turns between connections, and what they hold together."""
