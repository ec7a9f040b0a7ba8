# SPDX-License-Identifier: GPL-3.0-or-later
"""The shared parts of all asset services' tools, and the list of credits."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Annotated, Any, Literal, NotRequired, TypedDict, TypeVar

from ...approvals import consent
from ...base import settings
from ...importers import append, environment
from ...importers.append import Imported
from ...importers.credit import Credit
from ...importers.import_asset import import_asset
from ...importers.import_plan import ImportPlan, size_question
from ...importers.network.transport import megabytes
from ...importers.work import Work
from ..protocol.context import RequestContext
from .registry import tool
from .schema import Bounds

__all__ = (
    "AssetId",
    "CreditInfo",
    "ImportResult",
    "Location",
    "ask_user",
    "bring_in",
    "credit_info",
    "in_thread",
)

T = TypeVar("T")

Location = tuple[float, float, float] | None
AssetId = Annotated[str, Bounds(shortest=1, longest=50, pattern="^[A-Za-z0-9_-]+$")]


class CreditInfo(TypedDict):
    """An asset's author and licence, as far as they are known."""

    service: str
    id: str
    title: NotRequired[str]
    author: NotRequired[str]
    licence: NotRequired[str]
    licence_url: NotRequired[str]
    url: NotRequired[str]
    author_url: NotRequired[str]
    date: NotRequired[str]
    note: NotRequired[str]
    #: The credit as it may stand in a list.
    line: str


class ImportResult(TypedDict):
    """The things that an import added to the scene, or the note that it is still at work."""

    status: Literal["success", "pending"]
    collection: NotRequired[str]
    objects: NotRequired[list[str]]
    materials: NotRequired[list[str]]
    world: NotRequired[str]
    dimensions_m: NotRequired[list[float]]
    #: The client's picture, and its width and height in pixels.
    image: NotRequired[str]
    pixels: NotRequired[list[float]]
    #: The parts removed from a foreign file, because they could run code or read files, with their number.
    left_out: NotRequired[dict[str, int]]
    #: The milliseconds for which Blender was blocked while it took over the import.
    append_ms: NotRequired[float]
    credit: NotRequired[dict[str, str]]
    job_id: NotRequired[str]
    message: NotRequired[str]


class Credits(TypedDict):
    """The credits of the assets in this file, and the same as a text to copy."""

    credits: list[CreditInfo]
    text: str


@tool(title="Get Asset Credits", read_only=True)
def get_asset_credits(context: RequestContext) -> Credits:
    """Who made the imported assets in this file and under which licence, as a list and as a text to copy."""
    found = append.credits_of()
    return {"credits": [credit_info(item) for item in found], "text": "\n".join(item.line for item in found)}


def credit_info(credit: Credit) -> CreditInfo:
    """Return a credit as tools show it: only known facts."""
    return {**credit.known(), "line": credit.line}  # type: ignore[typeddict-item]


def _result(imported: Imported) -> ImportResult:
    """Return the answer of an import's tool."""
    measure = "dimensions_m" if imported.image is None else "pixels"
    found: dict[str, Any] = {
        "collection": imported.collection,
        "image": imported.image,
        "objects": list(imported.objects or imported.onto),
        "materials": list(imported.materials),
        "world": imported.world,
        measure: [round(length, 4) for length in imported.dimensions],
        "left_out": dict(imported.removed or {}),
        "append_ms": round(imported.held_up * 1000, 1),
    }
    told = {name: value for name, value in found.items() if value}
    return {"status": "success", **told, "credit": credit_info(imported.credit)}  # type: ignore[typeddict-item]


async def in_thread(context: RequestContext, do: Callable[[Work], T]) -> T:
    """Run a short piece of network work in a worker thread."""
    return await asyncio.to_thread(do, Work(environment.asset_cache(), context.cancelled))


async def bring_in(
    context: RequestContext, title: str, plan: ImportPlan, *, mark: bool = False
) -> ImportResult:
    """Ask the user about a large download, then import it as a job of this title, which can be cancelled.

    Raises PolicyError if the user does not agree, or cannot be asked.
    """
    question = size_question(plan)
    if question:
        await ask_user(
            context,
            "size",
            question,
            title=f"Download “{plan.title}”",
            otherwise=f"“{plan.title}” has {megabytes(plan.size or 0)}, and more than "
            f"{settings.current().ask_above_mb} MB are fetched only after the user agreed, which this client can't "
            "ask for. Choose a lower resolution, or ask the user to raise Ask Above in the preferences of MCP Bridge.",
        )
    await context.background("import", title)

    def report(percent: float, message: str) -> None:
        context.report_progress(percent, 100.0, message)

    work = Work(environment.asset_cache(), context.cancelled, report)
    return _result(await asyncio.to_thread(import_asset, work, plan, mark=mark))


async def ask_user(context: RequestContext, key: str, question: str, *, title: str, otherwise: str) -> None:
    """Raise PolicyError unless the user says yes; `otherwise` is its text if the user cannot be asked."""
    await consent.confirm(context, key, question, title=title, otherwise=otherwise)
