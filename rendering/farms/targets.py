# SPDX-License-Identifier: GPL-3.0-or-later
"""The render targets that a person has named in the preferences or the policy file. No `bpy`.

    here = openjd; night = slurm folder=/mnt/farm blender=/opt/blender/blender partition=night

Each is `NAME = ENGINE option=value …`, with `;` between several and quotes around values with spaces.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from urllib.parse import urlsplit

from ...base import settings
from ...base.errors import InvalidParamsError, SettingsError
from ...base.similar_names import did_you_mean

__all__ = ("ENGINES", "Target", "named", "parse")

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9 _-]{0,39}")
_WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,99}")

#: The options of each engine, and whether each is required.
ENGINES: Mapping[str, Mapping[str, bool]] = {
    "openjd": {"program": False},
    "flamenco": {"address": True, "folder": True},
    "deadline": {"folder": True, "program": False, "blender": False, "farm": False, "queue": False},
    "slurm": {"folder": True, "blender": False, "partition": False, "account": False, "config": False},
}
_PATHS = frozenset({"folder", "config"})
_PLAIN = frozenset({"partition", "account", "farm", "queue"})


@dataclass(frozen=True, slots=True)
class Target:
    """An engine and its options. Its workers see `folder` under the same path."""

    name: str
    engine: str
    options: Mapping[str, str]

    @property
    def folder(self) -> Path:
        """The folder that this computer and the workers share."""
        return Path(self.options["folder"])

    @property
    def blender(self) -> str:
        """The command with which workers start Blender."""
        return self.options.get("blender", "blender")


def parse(text: str) -> dict[str, Target]:
    """Return the targets in a text, by name. Raises ValueError that says what to write instead."""
    found: dict[str, Target] = {}
    for words in _statements(text):
        name, target = _target(words)
        if name in found:
            raise ValueError(f"give each target a name of its own: {name!r} is used twice")
        found[name] = target
    return found


def named(name: str) -> Target:
    """Return the target of this name. Raises InvalidParamsError if nobody has set it up."""
    text = settings.current().render_targets
    try:
        known = parse(text)
    except ValueError as error:
        raise SettingsError(f"render_targets is {text!r}: {error}.") from None
    if name not in known:
        listed = ", ".join(map(repr, known)) or "none"
        raise InvalidParamsError(
            f"There is no target {name!r}.{did_you_mean(name, known)} Targets: {listed}. The user sets them up in the "
            "preferences of MCP Bridge (Files > Render Targets)."
        )
    return known[name]


def _statements(text: str) -> list[list[str]]:
    lexer = shlex.shlex(text, posix=True, punctuation_chars=";")
    lexer.whitespace_split, lexer.commenters = True, ""
    lexer.escape = ""  # Windows' paths have backslashes
    try:
        words = list(lexer)
    except ValueError as error:
        raise ValueError(f"close each quote ({error})") from None
    statements: list[list[str]] = [[]]
    for word in words:
        if set(word) == {";"}:
            statements.append([])
        else:
            statements[-1].append(word)
    return [statement for statement in statements if statement]


def _target(words: list[str]) -> tuple[str, Target]:
    line = " ".join(words)
    if "=" not in words or words.index("=") + 2 > len(words):
        raise ValueError(f"write NAME = ENGINE option=value, with spaces around the first sign, not {line!r}")
    at = words.index("=")
    name, engine, given = " ".join(words[:at]), words[at + 1], words[at + 2 :]
    if not _NAME.fullmatch(name):
        raise ValueError(f"name a target with letters, digits and spaces, not {name!r}")
    if engine not in ENGINES:
        raise ValueError(f"use one of the engines {', '.join(ENGINES)}, not {engine!r}")
    options = dict(_option(word, engine) for word in given)
    lacking = [option for option, needed in ENGINES[engine].items() if needed and option not in options]
    if lacking:
        raise ValueError(f"{name!r} needs {lacking[0]}=…")
    return name, Target(name, engine, MappingProxyType(options))


def _option(word: str, engine: str) -> tuple[str, str]:
    option, equals, value = word.partition("=")
    if not equals or option not in ENGINES[engine]:
        known = ", ".join(f"{known}=…" for known in ENGINES[engine])
        raise ValueError(f"{engine} has the options {known}, not {word!r}")
    if not value.isprintable() or not value:
        raise ValueError(f"give {option} a value")
    if option in _PATHS and not Path(value).is_absolute():
        raise ValueError(f"give {option} an absolute path, not {value!r}")
    if option in _PLAIN and not _WORD.fullmatch(value):
        raise ValueError(f"{option} is a plain name, not {value!r}")
    if option == "address":
        parts = urlsplit(value)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or "@" in value:
            raise ValueError(f"give an address such as http://192.168.1.5:8080, not {value!r}")
        value = value.rstrip("/")
    return option, value
