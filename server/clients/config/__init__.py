# SPDX-License-Identifier: GPL-3.0-or-later
"""The clients' configuration files: where they are, what this Blender's entry says, and how the bridge edits them.

`table` has all differences between clients, as data. `snippets` makes an entry, `files` adds it to a file and removes
it, with the editor of the file's format: `json_text`, `toml_text`, `yaml_text`. Each editor changes only the text of
one entry; `files` reads the result again and refuses any other difference.
"""
