# SPDX-License-Identifier: GPL-3.0-or-later
"""Logs and traces: what the extension tells of its own work."""
