# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs scripts in the sandbox, attacks and honest ones, and checks what they could reach."""
