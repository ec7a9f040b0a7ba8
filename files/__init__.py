# SPDX-License-Identifier: GPL-3.0-or-later
"""Files outside the scene: the user's folders, files that clients send or fetch, kinds of files, exports.

Checks of paths and of file contents belong here. Code that opens a foreign file belongs in `importers`.
"""
