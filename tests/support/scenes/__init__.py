# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes scenes comparable as texts, and makes scenes with something of everything."""
