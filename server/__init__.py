# SPDX-License-Identifier: GPL-3.0-or-later
"""The MCP server: access, discovery, the protocol, its transports and the tools."""
