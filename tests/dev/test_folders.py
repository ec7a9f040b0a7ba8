# SPDX-License-Identifier: GPL-3.0-or-later
"""No folder of the repository has more modules than one reads at a glance."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from blenders import ROOT

MOST_MODULES = 15
"""How many modules a folder has beside its folders."""
FAMILIES = {
    "sandbox/stdlib": 40,
    "server/tools": 40,
    "tests/server/tools": 40,
    "tests/sandbox/cases/honest": 150,
}
"""Folders whose members are all alike may be larger."""
_MADE = {"build", "dist", "wheels", "node_modules"}
"""Folders at the root that `make` fills. Those with a dot before their name are not the repository's either."""


def test_no_folder_has_more_modules_than_one_reads_at_a_glance() -> None:
    counts = Counter(path.parent.relative_to(ROOT).as_posix() for path in _modules())
    assert {"base", "dev", "tests/dev"} <= counts.keys(), "not the whole tree was read"
    assert {name: n for name, n in counts.items() if n > FAMILIES.get(name, MOST_MODULES)} == {}, "group them"


def test_each_family_is_large() -> None:
    small = {name for name in FAMILIES if len(list((ROOT / name).glob("*.py"))) <= MOST_MODULES}
    assert small == set(), "it needs no exception any more: take it out of FAMILIES"


def _modules() -> Iterator[Path]:
    for folder, folders, files in os.walk(ROOT):
        top = Path(folder) == ROOT
        folders[:] = [one for one in folders if not one.startswith(".") and not (top and one in _MADE)]
        yield from (Path(folder, one) for one in files if one.endswith(".py") and one != "__init__.py")
