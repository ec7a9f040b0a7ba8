# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes the allow-lists from the RNA of all supported Blenders, or shows what a Blender would add to them.

    generate.py write [BLENDER …]    from these Blenders; without a name, from each of dev/blenders.py
    generate.py diff  BLENDER        what that Blender has and the lists do not know
    generate.py dump  FILE           (inside a Blender's Python) its RnaIndex as a pickle

BLENDER is a version of dev/blenders.py, or the path of a Python that can import `bpy`.

`diff` prints every new operator, property and function, with the decision of rules.py, for a person to read before
`write` puts it into the lists.
"""

from __future__ import annotations

import importlib
import json
import os
import pickle
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path
from types import ModuleType
from typing import Any

import rules

sys.path.insert(1, str(Path(__file__).resolve().parents[1]))

import blenders
import matrix

ROOT = blenders.ROOT
LISTS = ROOT / "sandbox" / "facts" / "allowlists"

Lists = dict[str, Any]


def room(name: str) -> ModuleType:
    """Return a module of the extension, imported from the source tree: the tree's folder is its package."""
    sys.path.insert(0, str(ROOT.parent))
    return importlib.import_module(f"{ROOT.name}.{name}")


def dump(target: str) -> None:
    """Pickle this Blender's index to `target`."""
    index = room("sandbox.reference.rna").build()
    Path(target).write_bytes(pickle.dumps(index))


def versions() -> list[str]:
    """Return the versions of the supported Blenders."""
    return [blender.version for blender in (blenders.DEFAULT, *blenders.MATRIX)]


def interpreter(named: str) -> tuple[list[str | Path], dict[str, str]]:
    """Return the command of a Blender's Python, by version or path, and the environment for it."""
    if named == blenders.DEFAULT.version:
        return [sys.executable], dict(os.environ)
    known = {blender.version: blender for blender in blenders.MATRIX}
    if named in known:
        try:
            return matrix.interpreter(known[named])
        except (matrix.environment.SetupError, matrix.debian_root.RootError) as error:
            raise SystemExit(str(error)) from error
    if Path(named).is_file():
        return [named], dict(os.environ)
    raise SystemExit(
        f"{named} is no Python and no Blender of dev/blenders.py: use one of {', '.join(versions())}"
    )


def load(named: str) -> Any:
    """Return the RnaIndex of the Blender with this version, or of this Python; built in a process of its own."""
    python, environment = interpreter(named)
    blenders.BUILD.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=blenders.BUILD) as folder:  # the Debian root has no other /tmp
        target = Path(folder) / "index"
        environment |= {"BLENDER_USER_RESOURCES": folder, "PYTHONDONTWRITEBYTECODE": "1"}
        command = [*python, Path(__file__).resolve(), "dump", target]
        done = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, check=False)
        if not target.exists():
            raise SystemExit(f"{named} could not be asked:\n{done.stdout}\n{done.stderr}")
        room("sandbox.reference.rna")
        return pickle.loads(target.read_bytes())


def decide(index: Any) -> Lists:
    """Return the lists that the rules make of one Blender."""
    hidden = {n for n in index.structs if not rules.allows_struct(n, [s.name for s in index.lineage(n)][1:])}
    read: dict[str, set[str]] = defaultdict(set)
    write: dict[str, set[str]] = defaultdict(set)
    call: dict[str, set[str]] = defaultdict(set)
    for struct in index.structs.values():
        if struct.name in hidden:
            continue
        for prop in struct.properties.values():
            target = prop.struct in hidden and prop.struct not in ("AnyType", "UnknownType")
            facts = {"runtime": prop.runtime, "subtype": prop.subtype, "target_hidden": target}
            if rules.is_readable(struct.name, prop.name, **facts):
                read[struct.name].add(prop.name)
                if not prop.readonly and rules.allows_write(struct.name, prop.name, subtype=prop.subtype):
                    write[struct.name].add(prop.name)
        for function in struct.functions.values():
            if rules.allows_function(struct.name, function.name, takes_path=takes_path(function.parameters)):
                call[struct.name].add(function.name)
        for name in struct.python:
            if f"{struct.name}.{name}" in rules.PYTHON_MEMBERS:
                read[struct.name].add(name)
    operators = {
        o.idname
        for o in index.operators.values()
        if rules.allows_operator(o.idname, takes_path=takes_path(o.parameters.values()))
    }
    return {"read": read, "write": write, "call": call, "operators": operators}


def takes_path(parameters: Any) -> bool:
    """Return whether a parameter is a path, a file name or bytes."""
    return any(p.subtype in rules.PATH_SUBTYPES or p.name in ("filepath", "directory") for p in parameters)


def merge(several: list[Lists]) -> Lists:
    """Return the union of the lists of several Blenders."""
    merged: Lists = {
        "read": defaultdict(set),
        "write": defaultdict(set),
        "call": defaultdict(set),
        "operators": set(),
    }
    for lists in several:
        merged["operators"] |= lists["operators"]
        for kind in ("read", "write", "call"):
            for struct, names in lists[kind].items():
                merged[kind][struct] |= names
    return merged


def write(lists: Lists) -> None:
    """Write the lists, one struct or module a line so that a difference reads well."""
    modules: dict[str, list[str]] = defaultdict(list)
    for idname in sorted(lists["operators"]):
        module, _, name = idname.partition(".")
        modules[module].append(name)
    LISTS.mkdir(exist_ok=True)
    for file, table in (
        ("operators", modules),
        ("properties_read", lists["read"]),
        ("properties_write", lists["write"]),
        ("functions", lists["call"]),
    ):
        lines = [
            f"{json.dumps(key)}: {json.dumps(' '.join(sorted(table[key])))}"
            for key in sorted(table)
            if table[key]
        ]
        (LISTS / f"{file}.json").write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def known() -> Lists:
    """Return the lists on disk."""

    def table(file: str) -> dict[str, set[str]]:
        return {k: set(v.split()) for k, v in json.loads((LISTS / f"{file}.json").read_text("utf-8")).items()}

    operators = {f"{m}.{n}" for m, names in table("operators").items() for n in names}
    return {
        "read": table("properties_read"),
        "write": table("properties_write"),
        "call": table("functions"),
        "operators": operators,
    }


def diff(index: Any) -> int:
    """Print what the rules would add to the lists for this Blender, and what they refuse; return the count."""
    now, then = decide(index), known()
    lines = [f"+ operator {o}" for o in sorted(now["operators"] - then["operators"])]
    for kind in ("read", "write", "call"):
        for struct in sorted(now[kind]):
            lines += [
                f"+ {kind} {struct}.{n}" for n in sorted(now[kind][struct] - then[kind].get(struct, set()))
            ]
    refused = sorted(set(index.operators) - now["operators"])
    lines += [f"  refused operator {o}" for o in refused if o.partition(".")[0] in rules.DATA_MODULES]
    print("\n".join(lines))
    added = sum(line.startswith("+") for line in lines)
    print(
        f"{added} additions for Blender {'.'.join(map(str, index.version))}; `write` would put them into the lists"
    )
    return added


def main(arguments: list[str]) -> int:
    """Run one of the three commands; return the exit code."""
    match arguments:
        case ["dump", target]:
            dump(target)
        case ["write", *named]:
            write(merge([decide(load(one)) for one in named or versions()]))
        case ["diff", one]:
            return 1 if diff(load(one)) else 0
        case _:
            print(__doc__)
            return 2
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
