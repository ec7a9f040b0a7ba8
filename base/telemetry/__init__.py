# SPDX-License-Identifier: GPL-3.0-or-later
"""Logs and traces of the extension's own work."""
