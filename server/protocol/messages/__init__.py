# SPDX-License-Identifier: GPL-3.0-or-later
"""The messages of the protocol: JSON-RPC, content, errors, and their checks."""
