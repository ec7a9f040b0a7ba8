# SPDX-License-Identifier: GPL-3.0-or-later
"""Stand-ins for outside services: asset services with their files, and render farms."""
