# SPDX-License-Identifier: GPL-3.0-or-later
"""The steps of a script from its text to its run. `pipeline` calls them, and none of them calls `pipeline`."""
