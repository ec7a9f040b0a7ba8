# SPDX-License-Identifier: GPL-3.0-or-later
"""Check file names that come from outside (an archive, a service's answer) before a file is written. No `bpy`."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from pathlib import PurePosixPath

from .errors import ExternalServiceError

__all__ = ("harmless", "inside")

_LONGEST = 200
#: Windows opens a device under these names, with any extension.
_DEVICES = frozenset(
    {"con", "prn", "aux", "nul", *(f"{port}{n}" for port in ("com", "lpt") for n in range(10))}
)


def inside(names: Iterable[str]) -> dict[str, PurePosixPath]:
    """Map each name to a relative path that stays inside the target folder on every operating system.

    Raises ExternalServiceError for a name that would leave the folder, that names a device or a stream, or that equals
    another name on a file system that ignores case.
    """
    checked: dict[str, PurePosixPath] = {}
    taken: dict[str, str] = {}
    for name in names:
        parts = name.split("/")
        if len(name) > _LONGEST or not all(harmless(part) for part in parts):
            raise ExternalServiceError(
                f"The file name {name[:80]!r} is not a plain path: nothing was written."
            )
        folded = unicodedata.normalize("NFC", name).casefold()
        if folded in taken:
            raise ExternalServiceError(
                f"The file names {taken[folded]!r} and {name!r} would be the same file: nothing was written."
            )
        taken[folded] = name
        checked[name] = PurePosixPath(*parts)
    return checked


def harmless(part: str) -> bool:
    """Whether this is an ordinary file name. Two dots inside a name, as in `a..b`, are allowed."""
    return (
        part not in ("", ".", "..")
        and not any(sign in '\\:*?"<>|' or not sign.isprintable() for sign in part)
        and part[-1] not in ". "
        and part.partition(".")[0].strip().lower() not in _DEVICES
    )
