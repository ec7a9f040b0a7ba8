# SPDX-License-Identifier: GPL-3.0-or-later
"""The configuration files of clients: which there are, what stands in them for this Blender, and how they are edited.

`table` is all that differs between clients, as data. `snippets` makes what goes into a file, `files` puts it in and
takes it out, by the editor of the file's format: `json_text`, `toml_text`, `yaml_text`. Each editor changes only the
text of one entry; `files` reads the result again and refuses what says more or less than it should.
"""
