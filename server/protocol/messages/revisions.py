# SPDX-License-Identifier: GPL-3.0-or-later
"""The revisions of MCP that this server speaks, and the reserved keys of `_meta`."""

from __future__ import annotations

#: Revisions that begin with `initialize`, the newest first.
HANDSHAKE = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
#: Revisions in which every request carries the `_meta` envelope.
STATELESS = ("2026-07-28",)

PROTOCOL_VERSION = "io.modelcontextprotocol/protocolVersion"
CLIENT_CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
CLIENT_INFO = "io.modelcontextprotocol/clientInfo"
LOG_LEVEL = "io.modelcontextprotocol/logLevel"
SERVER_INFO = "io.modelcontextprotocol/serverInfo"
SUBSCRIPTION_ID = "io.modelcontextprotocol/subscriptionId"

#: Any of these in `_meta` makes a request stateless.
ENVELOPE = frozenset({PROTOCOL_VERSION, CLIENT_CAPABILITIES, CLIENT_INFO, LOG_LEVEL})

TASKS_EXTENSION = "io.modelcontextprotocol/tasks"


def negotiate(requested: str) -> str:
    """Return the revision that answers `initialize`: the requested one if known, else the newest with a handshake."""
    return requested if requested in HANDSHAKE else HANDSHAKE[0]
