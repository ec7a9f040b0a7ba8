# SPDX-License-Identifier: GPL-3.0-or-later
"""Describes what this Blender has, as data and as text: RNA, its documentation, and a search in both.

This room never says what a script may use; `facts` says that. A new kind of thing to look up is a function of
`api_docs` and, to be found, an entry of `api_search`.
"""
