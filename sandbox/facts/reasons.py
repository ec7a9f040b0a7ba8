# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads `reasons.json`: why something is refused and what to use instead, by module, builtin, operator and member.

Each reason names a function, a tool of the bridge or another way, or says that there is no other way.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

__all__ = (
    "all_reasons",
    "instead_of",
    "load",
    "why_blender",
    "why_builtin",
    "why_class",
    "why_class_member",
    "why_member",
    "why_module",
    "why_operator",
    "why_property",
    "why_value",
)

_FILE: Final = Path(__file__).parent / "reasons.json"
"""The file with the reasons. In a reason, `@word` stands for the text of that name under "texts"."""
_MIXED: Final = frozenset({"wm"})
"""Operator modules whose operators' names say more than the module's name."""


@cache
def _table() -> Mapping[str, Any]:
    table = json.loads(_FILE.read_text(encoding="utf-8"))
    texts = table.pop("texts")

    def filled(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: filled(each) for key, each in value.items()}
        if isinstance(value, list):
            return [filled(each) for each in value]
        for mark, text in texts.items():
            value = value.replace(mark, text)
        return value

    return {key: filled(each) for key, each in table.items()}


def load() -> None:
    """Read the file now."""
    _table()


def all_reasons() -> Iterable[tuple[str, str]]:
    """Return every reason in the file, each with its section and name."""
    for section, entries in _table().items():
        if isinstance(entries, str):
            yield section, entries
            continue
        for name, reason in entries.items() if isinstance(entries, dict) else entries:
            yield f"{section} {name}", reason


def why_module(name: str) -> str | None:
    """Return why `import name` is of no use to a script, None for a module without a reason."""
    of_python: str | None = _table()["modules"].get(name.partition(".")[0])
    return of_python or _table()["blender_modules"].get(name)


def why_member(module: str, member: str) -> str:
    """Return why a member of a curated module of Python's is refused."""
    specific = _table()["module_members"].get(f"{module}.{member}")
    return str(specific or why_module(module) or _table()["name_other"])


def why_blender(path: str) -> str:
    """Return why a name of Blender's modules, such as `bpy.app.timers`, is refused."""
    known: Mapping[str, str] = _table()["blender_modules"]
    return known.get(path) or known.get(path.rpartition(".")[0]) or str(_table()["name_other"])


def why_builtin(name: str) -> str:
    """Return why a builtin function is refused when it is called."""
    return str(_table()["builtins"][name])


def why_class(kind: str) -> str:
    """Return what to derive from instead of a class: a `registered` class, a `plain` one, or a `value`."""
    return str(_table()["classes"][kind])


def why_class_member(name: str) -> str:
    """Return why a member of a class of Blender's, such as `bpy.types.Panel.append`, is refused."""
    return str(_table()["class_members"].get(name) or _table()["class_member_other"])


def why_operator(idname: str) -> str:
    """Return why an operator that is not listed is refused."""
    known: Mapping[str, str] = _table()["operators"]
    module, _, name = idname.partition(".")
    by_word = _by_word("operator", name)
    general = known.get(module)
    if module in _MIXED and by_word != _table()["operator_other"]:
        general = by_word
    return known.get(idname) or general or by_word


def instead_of() -> Mapping[str, str]:
    """Return what substitutes for operators do in a script, by the operator's name."""
    return _table()["instead"]  # type: ignore[no-any-return]


def why_value(kind: str, name: str) -> str:
    """Return why an attribute of a type of Python's, mathutils' or numpy's is refused."""
    known: Mapping[str, str] = _table()["value_members"]
    return known.get(f"{kind}.{name}") or known.get(kind) or str(_table()["value_other"])


def why_property(structs: Iterable[str], name: str) -> str:
    """Return why a member of a struct of Blender's is refused; `structs` are the struct and its bases."""
    known: Mapping[str, str] = _table()["members"]
    for struct in structs:
        if reason := known.get(f"{struct}.{name}") or known.get(struct):
            return reason
    return _by_word("member", name)


def _by_word(kind: str, name: str) -> str:
    for word, reason in _table()[f"{kind}_words"]:
        if word in name:
            return str(reason)
    return str(_table()[f"{kind}_other"])
