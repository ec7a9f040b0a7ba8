# SPDX-License-Identifier: GPL-3.0-or-later
"""Turn bytes into calls: one port for WebSocket and HTTP, frames, fair turns, and limits over all connections."""
