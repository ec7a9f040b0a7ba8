# SPDX-License-Identifier: GPL-3.0-or-later
"""The network access of the importers: connections, downloads, and the cache of downloaded files."""
