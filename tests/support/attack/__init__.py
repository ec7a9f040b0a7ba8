# SPDX-License-Identifier: GPL-3.0-or-later
"""A search for ways out of the sandbox: tables that are combined into scripts, a grammar, and what tells harm."""
