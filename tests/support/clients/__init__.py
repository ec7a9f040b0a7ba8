# SPDX-License-Identifier: GPL-3.0-or-later
"""Clients of a bridge: the SDKs, a minimal client, clients that flood, and calls of every tool."""
