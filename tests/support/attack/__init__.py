# SPDX-License-Identifier: GPL-3.0-or-later
"""Searches for ways out of the sandbox: tables that are combined into scripts, a grammar, and checks for harm."""
