# SPDX-License-Identifier: GPL-3.0-or-later
"""The way to the services: connections, downloads, and the cache of what was downloaded."""
