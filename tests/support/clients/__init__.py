# SPDX-License-Identifier: GPL-3.0-or-later
"""What speaks to a bridge: the SDKs, the least a client can be, clients that flood, and calls of every tool."""
