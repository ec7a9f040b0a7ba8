# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs scripts in the sandbox, attacks and honest ones, and looks at what they could reach."""
