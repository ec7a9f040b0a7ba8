# SPDX-License-Identifier: GPL-3.0-or-later
"""Files that are no part of the scene: the user's folders, what clients sent and may fetch, kinds of files, exports.

A check of a path, or of what a file holds, belongs here. What opens a foreign file belongs in `importers`.
"""
