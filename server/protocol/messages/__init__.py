# SPDX-License-Identifier: GPL-3.0-or-later
"""What stands on the wire: JSON-RPC, content, errors, and what is checked of them."""
