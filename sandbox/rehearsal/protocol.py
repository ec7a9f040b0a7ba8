# SPDX-License-Identifier: GPL-3.0-or-later
"""The messages between the parent and the child of a rehearsal: one JSON object a line.

The parent trusts the child until it has sent a copy of a scene, and never afterwards: it limits an answer's length and
checks it against a schema, and pictures come as plain pixels, which need no decoder.
"""

from __future__ import annotations

import base64
import binascii
import functools
import json
import math
import struct
import zlib
from collections.abc import Callable
from typing import Any, NotRequired, TypedDict

from ...base.errors import CANONICAL
from ..confinement.probe import EVERYTHING
from ..guard.measured import MOST, MOST_SUBJECTS

__all__ = (
    "MOST_UNREACHED",
    "PICTURE_SIZE",
    "Answer",
    "Comparison",
    "Failed",
    "Garbled",
    "Opening",
    "Request",
    "Save",
    "check_answer",
    "check_done",
    "check_ready",
    "check_zygote",
    "png",
)

#: The longer side of a picture, in pixels.
PICTURE_SIZE = 256
#: The most lines that an answer lists of those that the run never reached.
MOST_UNREACHED = 10_000
_LONGEST_TEXT = 1_100_000
_LONGEST_ANSWER = 16 * 1024 * 1024
_MOST = 200
_DEEPEST = 40


class Save(TypedDict):
    """How a copy is saved: its file name in the child's folder, and whether its paths stay relative.

    Relative paths stay relative to the folder that the scene was opened from; otherwise they become absolute.
    """

    name: str
    compress: bool
    relative: bool


class Opening(TypedDict):
    """A message of the parent: the copy of a scene that the child opens before there is a script for it."""

    open: str


class Comparison(TypedDict):
    """A message of the parent: another copy, which the child compares with the one that it has opened."""

    compare: str


class Request(TypedDict):
    """The parent's last message: a script, and the copy of the scene for it."""

    #: The copy to open, if the child has none open.
    scene: str
    #: Image name -> file with its pixels as 32-bit floats.
    pixels: dict[str, str]
    script: str
    title: str
    level: str
    time_limit_s: float
    memory_limit_mb: int
    output_limit_kb: int
    #: The memory that the script may use in the open scene if it makes more than estimates allow.
    live_memory_limit_mb: int
    pictures: bool
    #: How to save a copy of the script's result.
    save: NotRequired[Save]


class Failed(TypedDict):
    """Why the script failed: `type` is the name of one of `errors.CANONICAL`, `cause` a finer class."""

    type: str
    cause: str | None
    message: str
    line: NotRequired[int | None]


class Answer(TypedDict):
    """The child's answer, after the parent has checked it."""

    outcome: str
    error: NotRequired[Failed]
    result: Any
    stdout: str
    warnings: list[str]
    #: The seconds to open the scene, to run the script, and in all.
    seconds: dict[str, float]
    peak_memory_mb: float
    difference: dict[str, Any] | None
    pictures: dict[str, dict[str, Any]]
    #: Each estimate above the limit: its subject -> its `estimate`, and how much the script `made`.
    growth: NotRequired[dict[str, dict[str, float]]]
    #: The script's lines that never ran, counted from 1.
    unreached: NotRequired[list[int]]
    in_force: list[str]


class Garbled(Exception):
    """Tells that the child sent something that the protocol does not know."""


def _object(required: dict[str, Any], optional: dict[str, Any] | None = None) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": required | (optional or {}),
        "required": list(required),
        "additionalProperties": False,
    }


def _list(items: dict[str, Any], most: int = _MOST) -> dict[str, Any]:
    return {"type": "array", "items": items, "maxItems": most}


_TEXT = {"type": "string", "maxLength": 2000}
_NUMBER = {"type": "number", "minimum": 0, "maximum": 1e9}
_AMOUNT = {"type": "number", "minimum": 0, "maximum": MOST}
_COUNT = {"type": "integer", "minimum": 0, "maximum": 2**53}
_CHANGE = _object({"property": _TEXT}, {"before": {}, "after": {}, "note": _TEXT})
_BLOCK = _object({"kind": _TEXT, "name": _TEXT}, {"detail": _TEXT})
_PICTURE = _object(
    {
        "width": {"type": "integer", "minimum": 1, "maximum": PICTURE_SIZE},
        "height": {"type": "integer", "minimum": 1, "maximum": PICTURE_SIZE},
        "rgb": {"type": "string", "maxLength": PICTURE_SIZE * PICTURE_SIZE * 4},
    }
)
DIFFERENCE = _object(
    {
        "added": _list(_BLOCK),
        "removed": _list(_BLOCK),
        "changed": _list(_object({"kind": _TEXT, "name": _TEXT, "changes": _list(_CHANGE)})),
        "totals": {
            "type": "object",
            "maxProperties": 20,
            "additionalProperties": {"type": "array", "items": _COUNT, "minItems": 2, "maxItems": 2},
        },
        "left_out": {"type": "object", "maxProperties": 20, "additionalProperties": _COUNT},
    }
)
_ANSWER = _object(
    {
        "outcome": {"enum": ["success", "error"]},
        "result": {},
        "stdout": {"type": "string", "maxLength": _LONGEST_TEXT},
        "warnings": _list(_TEXT),
        "seconds": _object({"open": _NUMBER, "script": _NUMBER, "total": _NUMBER}),
        "peak_memory_mb": _NUMBER,
        "difference": {"anyOf": [DIFFERENCE, {"type": "null"}]},
        "pictures": _object({}, {"before": _PICTURE, "after": _PICTURE}),
        "in_force": _list({"enum": list(EVERYTHING)}, len(EVERYTHING)),
    },
    {
        "error": _object(
            {
                "type": {"enum": [kind.__name__ for kind in CANONICAL]},
                "cause": {"type": ["string", "null"], "maxLength": 2000},
                "message": _TEXT,
            },
            {"line": {"type": ["integer", "null"], "minimum": 0, "maximum": 2**31}},
        ),
        "growth": {
            "type": "object",
            "maxProperties": MOST_SUBJECTS,
            "additionalProperties": _object({"estimate": _AMOUNT}, {"made": _AMOUNT}),
        },
        "unreached": _list({"type": "integer", "minimum": 1, "maximum": 2**31}, MOST_UNREACHED),
    },
)
_READY = _object({"ready": {"const": True}, "blender": _TEXT, "in_force": _list({"enum": list(EVERYTHING)})})
_DONE = _object({"done": {"type": "boolean"}})
_ZYGOTE = _object({"ready": {"type": "boolean"}}, {"why": _TEXT})


def check_ready(line: bytes) -> list[str]:
    """Return the confinement in force, from the child's message before the script. Raises Garbled."""
    found: list[str] = _checked(line, "ready")["in_force"]
    return found


def check_done(line: bytes) -> bool:
    """Return whether the child could open a copy, or found another one to be of the same scene. Raises Garbled."""
    return bool(_checked(line, "done")["done"])


def check_zygote(line: bytes) -> str:
    """Return why a zygote cannot be copied, "" if it is ready. Raises Garbled."""
    return str(_checked(line, "zygote").get("why", ""))


def check_answer(line: bytes) -> Answer:
    """Return the child's answer. Raises Garbled for anything else, also if not all canaries were refused."""
    answer: Answer = _checked(line, "answer")
    if set(answer["in_force"]) != set(EVERYTHING):
        raise Garbled("the confinement did not hold: " + ", ".join(answer["in_force"] or ["nothing"]))
    return answer


def png(picture: dict[str, Any]) -> bytes:
    """Return the pixels of a checked picture as a PNG file. Raises Garbled if they do not fit its size."""
    width, height = picture["width"], picture["height"]
    try:
        rgb = base64.b64decode(picture["rgb"], validate=True)
    except binascii.Error:
        raise Garbled("a picture is not base64") from None
    row = 3 * width
    if len(rgb) != row * height:
        raise Garbled(f"a picture of {width} × {height} pixels has {len(rgb)} bytes")
    lines = b"".join(b"\0" + rgb[start : start + row] for start in range(0, len(rgb), row))
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(lines)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in chunks
    )


def _checked(line: bytes, what: str) -> Any:
    try:
        if len(line) > _LONGEST_ANSWER:
            raise ValueError(f"it has {len(line):,} bytes")
        found = json.loads(line, parse_constant=_refuse_constant, parse_float=_finite)
        return _validator(what)(_clean(found))
    except (ValueError, RecursionError) as error:
        raise Garbled(f"the child's {what} cannot be understood: {str(error)[:300]}") from None


def _clean(value: Any, depth: int = 0) -> Any:
    """Return a JSON value without lone surrogates, which nothing can write. Raises ValueError for deep nesting."""
    if depth > _DEEPEST:
        raise ValueError("it is nested too deep")
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-8", "replace").decode()
    if isinstance(value, list):
        return [_clean(part, depth + 1) for part in value]
    if isinstance(value, dict):
        return {_clean(key): _clean(part, depth + 1) for key, part in value.items()}
    return value


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text[:20]} is too large")
    return number


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is no JSON")


@functools.cache
def _validator(what: str) -> Callable[[Any], Any]:
    import fastjsonschema

    schemas = {"ready": _READY, "done": _DONE, "zygote": _ZYGOTE, "answer": _ANSWER}
    found: Callable[[Any], Any] = fastjsonschema.compile(schemas[what])
    return found
