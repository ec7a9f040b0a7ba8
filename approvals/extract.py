# SPDX-License-Identifier: GPL-3.0-or-later
"""Find the script in an assistant's answer: fenced code, an attachment, or plain text. Prose is refused, never run.

This module only finds the text; `validate` and `compile` decide, on exactly this text, whether it may run.
"""

from __future__ import annotations

import ast
import base64
import binascii
import json
import re
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from ..base.errors import InvalidParamsError
from ..sandbox.language.parse import parse_if_python

__all__ = ("Extracted", "NoScript", "extract")

ANSWER_LIMIT: Final = 2_000_000
_PYTHON: Final = frozenset(
    {"python", "py", "python3", "py3", "bpy", "blender", "blender-python", "python-repl", "pycon"}
)
_FENCE: Final = re.compile(r"^([ \t]*(?:>[ \t]?)*)(`{3,}|~{3,})[ \t]*([^\n]*)$")
_PROMPT: Final = re.compile(r"^\s*(>>>|\.\.\.)( |$)")
_CODE_LINE: Final = re.compile(
    r"^(import \w|from [\w.]+ import |def \w+\(|class \w+[(:]|@\w|(for|while|if|with|try)\b.*:\s*(#.*)?$"
    r"|[\w.\[\]'\", ]+ [-+*/]?= |bpy\.|print\(|#)"
)
_REPLACES: Final = re.compile(
    r"\b(full|complete|final|whole|entire|updated|corrected|fixed|improved|revised|combined|version entière|complet)\b",
    re.I,
)
_ALTERNATIVE: Final = re.compile(
    r"\b(alternativ\w*|or you can|or, if|option (b|c|2|3)|another way|instead of|if you prefer|sinon)\b", re.I
)


class NoScript(InvalidParamsError):
    """The answer has no script; the message says what it has and what to send instead."""


@dataclass(frozen=True, slots=True)
class Extracted:
    """A script and its origin: `origin` is 'fence', 'attachment' or 'plain'; notes are for the user."""

    script: str
    origin: str
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Block:
    language: str
    code: str
    before: str
    closed: bool


def extract(answer: str | Mapping[str, Any]) -> Extracted:
    """Find the script in an answer, or in an attachment `{"filename", "mimeType", "text" | "blob"}`.

    Raises:
        NoScript: the answer is empty, cut off, only prose or another language, or the attachment is no Python text.
    """
    if isinstance(answer, Mapping):
        return _attachment(answer)
    if not isinstance(answer, str):
        raise NoScript(f"the answer is a {type(answer).__name__}: send a text or an attachment object")
    if len(answer) > ANSWER_LIMIT:
        raise NoScript(f"the answer has {len(answer):,} characters; {ANSWER_LIMIT:,} are allowed")
    text = answer.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    if not text.strip():
        raise NoScript("the answer is empty: send the script in a ```python fence")
    attachment = _json_attachment(text)
    if attachment is not None:
        return _attachment(attachment)
    blocks = list(_blocks(text))
    if blocks:
        return _from_blocks(blocks)
    return _from_plain(text)


# Attachments


def _json_attachment(text: str) -> Mapping[str, Any] | None:
    if not text.lstrip().startswith("{"):
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if (
        isinstance(value, dict)
        and value.keys() & {"text", "blob"}
        and value.keys() & {"filename", "mimeType"}
    ):
        return value
    return None


def _attachment(value: Mapping[str, Any]) -> Extracted:
    name, mime = str(value.get("filename", "")), str(value.get("mimeType", ""))
    what = name or mime or "the attachment"
    if not (name.lower().endswith(".py") or "python" in mime.lower() or mime.lower().startswith("text/")):
        raise NoScript(f"{what} is no Python script: attach a .py file with mimeType text/x-python")
    text = value.get("text")
    if text is None and isinstance(value.get("blob"), str):
        text = _decoded(value["blob"], what)
    if not isinstance(text, str) or not text.strip():
        raise NoScript(f"{what} is empty: put the script into 'text', or as base64 into 'blob'")
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    blocks = list(_blocks(text))
    if blocks and not _parses(text):
        return Extracted(
            _from_blocks(blocks).script, "attachment", ("taken out of a fence inside the attachment",)
        )
    return Extracted(_ended(text), "attachment")


def _decoded(blob: str, what: str) -> str:
    try:
        return base64.b64decode(blob, validate=True).decode("utf-8")
    except (binascii.Error, UnicodeDecodeError) as error:
        raise NoScript(f"{what}: 'blob' is not base64 of UTF-8 text ({error})") from None


# Fences


def _blocks(text: str) -> Iterator[_Block]:
    """Fenced blocks as in CommonMark: a fence ends at one of the same character that is at least as long."""
    lines = text.split("\n")
    position, prose_from = 0, 0
    while position < len(lines):
        opening = _FENCE.match(lines[position])
        if opening is None or ("`" in opening[3] and opening[2][0] == "`"):
            position += 1
            continue
        end, closed = _closing(lines, position, opening)
        words = opening[3].strip().strip("{}.").split()
        body = _unquoted(lines[position + 1 : end], opening[1])
        yield _Block(
            words[0].split(":")[0].split(",")[0].lower().strip("{}.") if words else "",
            body,
            "\n".join(lines[prose_from:position]),
            closed,
        )
        position = prose_from = end + 1


def _closing(lines: list[str], start: int, opening: re.Match[str]) -> tuple[int, bool]:
    """The end of the block: the first closing fence after which the code parses, since a docstring may contain one."""
    ends = [
        index
        for index in range(start + 1, len(lines))
        if (found := _FENCE.match(lines[index]))
        and found[2][0] == opening[2][0]
        and len(found[2]) >= len(opening[2])
        and not found[3].strip()
    ]
    if not ends:
        return len(lines), False
    for end in ends[:8]:
        body = _unquoted(lines[start + 1 : end], opening[1])
        if _parses(body):
            return end, True
        if body.count('"""') % 2 == 0 and body.count("'''") % 2 == 0:
            break
    return ends[0], True


def _unquoted(lines: list[str], prefix: str) -> str:
    """The lines without the indentation or the `>` of the list or quotation around the fence."""
    depth = prefix.count(">")
    if depth:
        lines = [re.sub(rf"^[ \t]*(>[ \t]?){{1,{depth}}}", "", line) for line in lines]
    return _without_prompts(textwrap.dedent("\n".join(lines)))


def _from_blocks(blocks: list[_Block]) -> Extracted:
    tagged = [block for block in blocks if block.language in _PYTHON]
    chosen = tagged or [block for block in blocks if not block.language and _is_code(block.code)]
    chosen = [block for block in chosen if block.code.strip()]
    if not chosen:
        languages = sorted({block.language for block in blocks if block.language})
        found = f"fenced {', '.join(languages)}" if languages else "fenced text that is no Python"
        raise NoScript(f"the answer has no Python script, only {found}: send it in a ```python fence")
    notes: list[str] = []
    if len(chosen) > 1:
        chosen, note = _together(chosen)
        notes.append(note)
    for block in chosen:
        if not block.closed:
            if not _parses(block.code):
                raise NoScript(
                    "the code fence is not closed and the script breaks off: send the whole script again"
                )
            notes.append("the code fence is not closed: the script may be incomplete")
    return Extracted(_ended("\n\n".join(block.code.strip("\n") for block in chosen)), "fence", tuple(notes))


def _together(blocks: list[_Block]) -> tuple[list[_Block], str]:
    """Combine several Python blocks: join steps, keep only the last complete version, and leave out alternatives."""
    kept: list[_Block] = []
    left_out = 0
    for block in blocks:
        if kept and _ALTERNATIVE.search(_last_sentence(block.before)):
            left_out += 1
        elif kept and _REPLACES.search(_last_sentence(block.before)):
            left_out += len(kept)
            kept = [block]
        else:
            kept.append(block)
    note = f"{len(kept)} code blocks were joined" if len(kept) > 1 else "one of several code blocks was taken"
    return kept, note + (f"; {left_out} were left out" if left_out else "")


def _last_sentence(prose: str) -> str:
    lines = [line for line in prose.strip().split("\n") if line.strip()]
    return lines[-1] if lines else ""


# Plain text


def _from_plain(text: str) -> Extracted:
    code = _without_prompts(textwrap.dedent(text))
    if _is_code(code):
        return Extracted(_ended(code), "plain")
    found = _code_among_prose(code)
    if found is not None:
        return Extracted(_ended(found), "plain", ("the text around the script was left out",))
    if _looks_like_code(code):
        return Extracted(_ended(code), "plain", ("the text is not valid Python as a whole",))
    start = " ".join(text.split())[:60]
    raise NoScript(f"the answer is prose, not a script ({start!r} …): send the script in a ```python fence")


def _code_among_prose(text: str) -> str | None:
    """The longest run of whole paragraphs, from the first line of code on, that is valid Python."""
    lines = text.split("\n")
    start = next(
        (i for i, line in enumerate(lines) if _CODE_LINE.match(line) and not line.startswith("#")), None
    )
    if start is None:
        return None
    ends = [i for i in range(len(lines), start, -1) if i == len(lines) or not lines[i].strip()]
    for end in ends[:60]:
        code = "\n".join(lines[start:end])
        if _is_code(code):
            return code
    return None


def _looks_like_code(text: str) -> bool:
    lines = [line for line in text.split("\n") if line.strip()]
    return sum(bool(_CODE_LINE.match(line) or line.startswith((" ", "\t", ")"))) for line in lines) * 2 > len(
        lines
    )


def _without_prompts(text: str) -> str:
    """The input lines of an interactive session, without prompts and output; any other text unchanged."""
    lines = text.split("\n")
    if not any(line.lstrip().startswith(">>> ") for line in lines):
        return text
    kept = [re.sub(r"^\s*(>>>|\.\.\.) ?", "", line) for line in lines if _PROMPT.match(line)]
    return "\n".join(kept)


def _parses(text: str) -> bool:
    return bool(text.strip()) and parse_if_python(text) is not None


def _is_code(text: str) -> bool:
    """Whether a text is Python that does something: `Sure` and `"a note"` are valid Python, too, but no script."""
    tree = parse_if_python(text)
    if tree is None:
        return False
    return any(not isinstance(node, ast.Expr) or isinstance(node.value, ast.Call) for node in tree.body)


def _ended(text: str) -> str:
    return text.strip("\n").rstrip() + "\n"
