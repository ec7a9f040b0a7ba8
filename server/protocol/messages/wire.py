# SPDX-License-Identifier: GPL-3.0-or-later
"""Decodes and encodes JSON strictly.

Python's `json` takes more than JSON: NaN and Infinity, the last of several equal keys, and half a pair of UTF-16
(`\\ud800` without its partner), which is no character and has no form in UTF-8 (RFC 8259, 8.2; RFC 7493, 2.1). A
message that two readers understand differently can bypass a check, so all of these are refused, as are numbers that
overflow to infinity.
"""

from __future__ import annotations

import json
import json.encoder
import secrets
from typing import Any

#: Objects and arrays nested deeper than this are refused; no message of MCP comes near it. Well below the
#: interpreter's recursion limit, which a decoded value would otherwise reach when it is walked or encoded.
MAX_DEPTH = 100


class WireError(ValueError):
    """A text that isn't one JSON value; the message says why."""


def decode(text: str) -> Any:
    """Decode one JSON text. Raises WireError."""
    try:
        value = _decoder.decode(text)
    except RecursionError:
        raise WireError(_TOO_DEEP) from None
    except WireError:
        raise
    except ValueError as error:
        raise WireError(f"not JSON: {error}") from None
    # Fewer brackets than levels cannot nest too deep; to count them takes less than to walk the value.
    if text.count("{") + text.count("[") > MAX_DEPTH and _deeper_than(value, MAX_DEPTH):
        raise WireError(_TOO_DEEP)
    # In text from UTF-8, only such an escape can make a surrogate. Most texts have no backslash, which is quick to see.
    if "\\" in text and ("\\ud" in text or "\\uD" in text):
        _require_characters(value)
    return value


def decode_bytes(data: bytes | bytearray) -> Any:
    """Decode one JSON text in UTF-8. Raises WireError."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise WireError(f"not UTF-8: {error}") from None
    return decode(text)


def encode(value: Any) -> str:
    """Encode as compact JSON in one line that is valid UTF-8.

    Numbers without a JSON form become null, as in JavaScript, and half a pair of UTF-16 becomes U+FFFD: a scene may
    have a NaN and a file name may be no valid text, and reading them must not fail. Raises TypeError for a value that
    is not JSON at all.
    """
    try:
        text = _encode(value)
    except ValueError:
        text = _encode(_finite(value))
    return text if text.isascii() else _well_formed(text)


class Encoded(dict[str, Any]):
    """A JSON object with its text, so that nobody has to encode it again."""

    def __init__(self, value: dict[str, Any], text: str) -> None:
        super().__init__(value)
        self.text = text


def encode_message(message: dict[str, Any]) -> str:
    """Encode a JSON-RPC message as `encode` does, and copy the parts of its result that are JSON already.

    These are the structured content of a tool if it is `Encoded`, and each long text of the contents in which nothing
    is to be escaped, such as a picture in Base64.
    """
    result = message.get("result")
    if not isinstance(result, dict):
        return encode(message)
    ready: list[str] = []
    marked = {key: _marked(key, value, ready) for key, value in result.items()}
    if not ready:
        return encode(message)
    pieces = encode({**message, "result": marked}).split(_QUOTED_MARK)
    whole = [pieces[0]]
    for text, piece in zip(ready, pieces[1:], strict=True):
        whole += (text, piece)
    return "".join(whole)


#: Texts with more characters are copied as they are, if nothing in them is to be escaped.
_LONG = 1 << 14
#: Stands for what is ready in a message that is being encoded. Nobody else knows it, so no text can contain it.
_MARK = secrets.token_hex(16)
_QUOTED_MARK = f'"{_MARK}"'


def _marked(key: str, value: Any, ready: list[str]) -> Any:
    """Return a member of a result with marks in place of what is ready; add that to `ready`, in order."""
    if isinstance(value, Encoded):
        ready.append(value.text)
        return _MARK
    return _without_long_texts(value, ready) if key in ("content", "contents") else value


def _without_long_texts(value: Any, ready: list[str]) -> Any:
    if isinstance(value, str):
        if len(value) > _LONG and _needs_no_escape(value):
            ready.append(f'"{value}"')
            return _MARK
    elif isinstance(value, dict):
        return {
            # Most members are short texts: a call for each would cost more than the rest.
            key: item if type(item) is str and len(item) <= _LONG else _without_long_texts(item, ready)
            for key, item in value.items()
        }
    elif isinstance(value, list):
        return [_without_long_texts(item, ready) for item in value]
    return value


def _needs_no_escape(text: str) -> bool:
    """Return whether this ASCII text, between quotation marks, is its own JSON."""
    if not text.isascii() or '"' in text or "\\" in text:
        return False
    encoded = text.encode("ascii")
    return len(encoded.translate(None, _CONTROL)) == len(encoded)


_TOO_DEEP = f"nested deeper than {MAX_DEPTH} levels"


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise WireError(f"duplicate key {twice[:60]!r}")
    return found


def _float(text: str) -> float:
    value = float(text)
    if value in (_INF, -_INF):
        raise WireError(f"number {text[:60]} is out of range")
    return value


def _constant(name: str) -> Any:
    raise WireError(f"{name} is not JSON")


def _deeper_than(value: Any, levels: int) -> bool:
    """Return whether containers nest more than `levels` deep; level by level, without recursion."""
    layer = [value] if isinstance(value, (dict, list)) else []
    while layer:
        if levels == 0:
            return True
        levels -= 1
        layer = [
            child
            for parent in layer
            for child in (parent.values() if isinstance(parent, dict) else parent)
            if isinstance(child, (dict, list))
        ]
    return False


def _require_characters(value: Any) -> None:
    try:
        _encode(value).encode()
    except UnicodeEncodeError as error:
        half = ord(error.object[error.start])
        raise WireError(f"\\u{half:04x} is half a pair of UTF-16 and no character") from None


def _well_formed(text: str) -> str:
    """Return the text with U+FFFD in place of each invalid character."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def _finite(value: Any) -> Any:
    match value:
        case float():
            return value if value - value == 0 else None
        case dict():
            return {key: _finite(item) for key, item in value.items()}
        case list() | tuple():
            return [_finite(item) for item in value]
        case _:
            return value


_INF = float("inf")
_decoder = json.JSONDecoder(object_pairs_hook=_object, parse_float=_float, parse_constant=_constant)
#: The characters besides `"` and `\\` that JSON escapes.
_CONTROL = bytes(range(ord(" ")))
_encoder = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))
#: The encoder in C, which `_encoder.encode` would make anew for each value. Without its list of the containers around a
#: value: one that contains itself ends in RecursionError.
_in_chunks = json.encoder.c_make_encoder(  # type: ignore[attr-defined]
    None, _encoder.default, json.encoder.encode_basestring, None, ":", ",", False, False, False
)


def _encode(value: Any) -> str:
    return "".join(_in_chunks(value, 0))
