# SPDX-License-Identifier: GPL-3.0-or-later
"""What this Blender has, as data and as text: RNA, its documentation, and a search in both.

It says what there is and never what a script may do with it, which `facts` says. A new kind of thing to look up is a
function of `api_docs` and, to be found, an entry of `api_search`.
"""
