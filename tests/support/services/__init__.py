# SPDX-License-Identifier: GPL-3.0-or-later
"""Stand-ins for what lies outside: asset services with their files, and render farms."""
