# SPDX-License-Identifier: GPL-3.0-or-later
"""Reports what a rehearsal found, for a program and for a person."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal, NotRequired, TypedDict

from ...base.errors import BridgeError, failure_of
from .protocol import Answer, Failed, png

__all__ = (
    "Confinement",
    "Report",
    "as_result",
    "as_text",
    "failed",
    "from_answer",
    "out_of_reach",
    "pictures_of",
)

Outcome = Literal["success", "error", "rejected"]


class Confinement(TypedDict):
    """The means that confined the script, and the attempts that it had just refused when the script began."""

    means: str
    in_force: list[str]


class Report(TypedDict):
    """A rehearsal's report. `outcome`: the script ended well, failed or was refused, or did not end.

    `seconds`: `snapshot` (how long the copy blocked the window), `open`, `script`, `total`.
    """

    outcome: Outcome
    message: str
    error: NotRequired[Failed]
    result: Any
    stdout: str
    warnings: list[str]
    seconds: dict[str, float]
    peak_memory_mb: float
    difference: NotRequired[dict[str, Any]]
    #: Each estimate above the limit: its subject -> its `estimate`, and how much the script `made`.
    growth: NotRequired[dict[str, dict[str, float]]]
    #: The script's lines that never ran in the rehearsal, counted from 1: nobody has seen what they do.
    unreached: NotRequired[list[int]]
    confinement: Confinement


@dataclass(frozen=True, slots=True)
class Held:
    """What the parent itself knows about a rehearsal."""

    confinement: Confinement
    snapshot_seconds: float
    total_seconds: float
    peak_memory_mb: float
    warnings: tuple[str, ...]


def from_answer(answer: Answer, held: Held) -> Report:
    """Return the report of a script that ended."""
    report = _begin(answer["outcome"], held)  # type: ignore[arg-type]
    report["result"], report["stdout"] = answer["result"], answer["stdout"]
    report["warnings"] += answer["warnings"]
    report["seconds"] |= {"open": answer["seconds"]["open"], "script": answer["seconds"]["script"]}
    report["peak_memory_mb"] = max(held.peak_memory_mb, answer["peak_memory_mb"])
    if "error" in answer:
        error = report["error"] = answer["error"]
        where = f" (line {error['line']})" if error.get("line") else ""
        report["message"] = f"The rehearsal stopped{where}: {error['message']}"
    else:
        report["difference"] = answer["difference"] or {}
        if growth := answer.get("growth"):
            report["growth"] = growth
        if unreached := answer.get("unreached"):
            report["unreached"] = unreached
        report["message"] = "The rehearsal went well."
    return report


def failed(error: BridgeError, held: Held) -> Report:
    """Return the report of a script that did not end: it may not run live."""
    report = _begin("rejected", held)
    report["message"] = str(error)
    report["error"] = Failed(type=failure_of(error)["error"], cause=None, message=str(error))
    return report


def as_result(report: Report) -> dict[str, Any]:
    """Return the report as a tool's structured result, with `error`, `cause` and `line` as in every error."""
    found: dict[str, Any] = {**report, "status": "success" if report["outcome"] == "success" else "error"}
    if "error" in report:
        error = report["error"]
        facts = {"error": error["type"], "cause": error.get("cause"), "line": error.get("line")}
        found |= {name: value for name, value in facts.items() if value is not None}
    return found


def _begin(outcome: Outcome, held: Held) -> Report:
    return Report(
        outcome=outcome,
        message="",
        result=None,
        stdout="",
        warnings=list(held.warnings),
        seconds={"snapshot": round(held.snapshot_seconds, 4), "total": round(held.total_seconds, 4)},
        peak_memory_mb=round(held.peak_memory_mb, 1),
        confinement=held.confinement,
    )


def pictures_of(answer: Answer) -> dict[str, bytes]:
    """Return the pictures `before` and `after`, if any, as PNG files that this process encodes."""
    return {when: png(picture) for when, picture in answer["pictures"].items()}


_WORDS = {"read": "your files", "write": "your disk", "network": "the network", "process": "other programs"}
_MOST_LINES = 60
_MOST_OF_A_KIND = 12
_LONGEST_VALUE = 80
#: The seconds of a blocked window from which the report mentions them.
_NOTICEABLE_S = 0.1


def as_text(report: Report) -> str:
    """Return the report as text for a person: what happened, what would change, and the cost."""
    lines = [report["message"]]
    difference = report.get("difference")
    if difference is not None:
        lines += _difference(difference) or ["Nothing in the scene would change."]
    if growth := report.get("growth"):
        lines += ["", "Measured, since estimates are above the limit:", *_indented(_growth(growth))]
    if report["stdout"].strip():
        lines += ["", "It printed:", *_indented(report["stdout"].strip().splitlines()[:20])]
    if report["result"] is not None:
        lines += ["", f"Its result: {_value(report['result'], 500)}"]
    if report["warnings"]:
        lines += ["", "Take note:", *_indented(report["warnings"][:20], "! ")]
    return "\n".join(map(_visible, [*lines, "", _cost(report)]))


def _growth(growth: dict[str, dict[str, float]]) -> list[str]:
    """Return lines with how much the script made in the end of each thing above its estimate."""
    shown = [
        f"{subject}: {facts['made']:,.0f}" if "made" in facts else subject
        for subject, facts in list(growth.items())[:_MOST_OF_A_KIND]
    ]
    return [*shown, f"… and {len(growth) - len(shown)} more"] if len(growth) > len(shown) else shown


def _visible(line: str) -> str:
    """Return a text as one line of printable characters: a script's name must not look like a line of the report."""
    return "".join(char if char.isprintable() else repr(char)[1:-1] for char in line)


def _difference(difference: dict[str, Any]) -> list[str]:
    lines: list[str] = []
    for title, sign, key in (("Added", "+", "added"), ("Removed", "−", "removed")):
        if difference[key]:
            lines += ["", f"{title}:"]
            lines += _blocks(difference[key], sign)
    if difference["changed"]:
        lines += ["", "Changed:"]
        for block in difference["changed"]:
            lines.append(f"  ~ {block['kind']} {block['name']!r}")
            lines += [f"      {_change(change)}" for change in block["changes"]]
    if len(lines) > _MOST_LINES:
        lines = [*lines[:_MOST_LINES], f"  … and {len(lines) - _MOST_LINES} more lines"]
    if difference["totals"]:
        counts = [f"{name} {before:,} → {after:,}" for name, (before, after) in difference["totals"].items()]
        lines += ["", "In all: " + ", ".join(counts)]
    if difference["left_out"]:
        lines += [
            "Not shown: " + ", ".join(f"{count:,} {name}" for name, count in difference["left_out"].items())
        ]
    return lines


def _blocks(blocks: list[dict[str, Any]], sign: str) -> list[str]:
    """Return a line for each changed block; of very many of one kind only the first ones."""
    lines, counts = [], Counter(block["kind"] for block in blocks)
    shown: Counter[str] = Counter()
    for block in blocks:
        kind = block["kind"]
        shown[kind] += 1
        if counts[kind] <= _MOST_OF_A_KIND or shown[kind] < _MOST_OF_A_KIND:
            lines.append(f"  {sign} {_block(block)}")
        elif shown[kind] == _MOST_OF_A_KIND:
            lines.append(f"  {sign} … and {counts[kind] - _MOST_OF_A_KIND + 1:,} more of {kind}")
    return lines


def _block(block: dict[str, Any]) -> str:
    detail = block.get("detail")
    return f"{block['kind']} {block['name']!r}" + (f" ({detail})" if detail else "")


def _change(change: dict[str, Any]) -> str:
    path, note = change["property"], change.get("note", "")
    if "before" in change and "after" in change:
        return f"{path}: {_value(change['before'])} → {_value(change['after'])}"
    if "after" in change:
        return f"+ {path}: {_value(change['after'])}" + (f" ({note})" if note else "")
    if "before" in change:
        return f"− {path}: was {_value(change['before'])}"
    return f"{path}: {note}"


def _value(value: Any, longest: int = _LONGEST_VALUE) -> str:
    if isinstance(value, list):
        text = "(" + ", ".join(_value(part) for part in value) + ")"
    elif isinstance(value, float):
        text = f"{value:g}"
    else:
        text = repr(value)
    return text if len(text) <= longest else text[:longest] + "…"


def _indented(lines: list[str], mark: str = "") -> list[str]:
    return [f"  {mark}{line}" for line in lines]


def out_of_reach(in_force: Iterable[str]) -> str:
    """Return the attempts that the confinement refused, in a user's words."""
    found = set(in_force)
    return ", ".join(words for name, words in _WORDS.items() if name in found)


def _cost(report: Report) -> str:
    seconds, held = report["seconds"], report["confinement"]
    parts = [f"{seconds['script']:.3g} s in the script"] if "script" in seconds else []
    parts += [f"{seconds['total']:.2g} s in all", f"{report['peak_memory_mb']:,.0f} MB at most"]
    if seconds["snapshot"] >= _NOTICEABLE_S:
        parts.append(f"Blender stood still for {seconds['snapshot']:.2g} s while the scene was copied")
    reach = out_of_reach(held["in_force"])
    return f"Took {', '.join(parts)}. Confined by {held['means']}; it could not reach: {reach}."
