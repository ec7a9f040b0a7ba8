# SPDX-License-Identifier: GPL-3.0-or-later
"""From the socket to the tool: access, discovery, the protocol, its transports and the tools."""
