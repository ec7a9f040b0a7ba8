# SPDX-License-Identifier: GPL-3.0-or-later
"""Tools for Hyper3D Rodin."""

from __future__ import annotations

import asyncio
from typing import Annotated, Literal, NotRequired, TypedDict

from ...approvals import whom_to_ask
from ...base import main_thread, settings
from ...importers.hyper3d import importing, scene
from ...importers.hyper3d.api import Order, Picture, ProviderName, Tier
from ...importers.hyper3d.pictures import decode
from ..protocol.context import RequestContext
from .assets import ImportResult, Location, ask_user, bring_in, in_thread
from .registry import tool
from .schema import Bounds

OrderId = Annotated[str, Bounds(shortest=1, longest=100, pattern="^[A-Za-z0-9_-]+$")]
Proportion = Annotated[int, Bounds(1, 1000)]


class OrderResult(TypedDict):
    """The outcome of placing an order."""

    status: Literal["success", "pending"]
    order_id: NotRequired[str]
    job_id: NotRequired[str]
    message: str


class OrderStatus(TypedDict):
    """The progress of an order."""

    status: Literal["success"]
    order_id: str
    state: Literal["waiting", "generating", "done", "failed", "cancelled"]
    message: NotRequired[str]


class Balance(TypedDict):
    """The credits left on the account."""

    provider: ProviderName
    credits: float | None
    #: The unit of the balance: "credits", or a currency.
    unit: NotRequired[str]
    message: NotRequired[str]


@tool(
    title="Create Rodin Job",
    open_world=True,
    seldom=(
        *("images_base64", "quality", "material", "mesh_mode", "condition_mode", "bounding_box", "seed"),
        *("t_pose", "high_pack", "provider"),
    ),
)
async def create_rodin_job(
    context: RequestContext,
    prompt: Annotated[str, Bounds(longest=2000)] = "",
    images: Annotated[list[Annotated[str, Bounds(shortest=1, longest=255)]] | None, Bounds(longest=5)] = None,
    images_base64: Annotated[
        list[Annotated[str, Bounds(longest=14_000_000)]] | None, Bounds(longest=5)
    ] = None,
    tier: Tier = "Regular",
    quality: Literal["high", "medium", "low", "extra-low"] = "medium",
    material: Literal["PBR", "Shaded", "All", "None"] = "PBR",
    mesh_mode: Literal["Raw", "Quad"] = "Quad",
    condition_mode: Literal["concat", "fuse"] = "concat",
    bounding_box: tuple[Proportion, Proportion, Proportion] | None = None,
    seed: Annotated[int | None, Bounds(0, 65535)] = None,
    t_pose: bool = False,
    high_pack: bool = False,
    provider: ProviderName | None = None,
    confirm_cost: bool = False,
) -> OrderResult:
    """Order a 3D model from Hyper3D Rodin, from a text, from pictures, or both. It costs credits of the user's account,
    so the user is asked first. It takes one to several minutes: ask poll_rodin_job_status every 10 seconds, then call
    import_generated_asset.

    prompt: what to model, in English.
    images: names of images in this file to model from, best several views of one thing.
    images_base64: further pictures, as PNG, JPEG or WebP in base64.
    tier: Sketch is the quickest, Gen-2.5-Extreme-High the finest.
    mesh_mode: Quad for clean faces, Raw for triangles.
    condition_mode: concat for several views of one thing, fuse to mix several things.
    bounding_box: proportions as width (Y), height (Z), length (X).
    t_pose: a person in T or A pose.
    high_pack: textures of 4K and more faces, for more credits.
    provider: whose key to use; without it the provider that has a key.
    confirm_cost: true once the user has agreed to the cost; counts only where MCP Bridge can't ask the user itself.
    """
    chosen = importing.choose(provider)
    order = Order(
        prompt=prompt,
        pictures=await _pictures(context, images or [], images_base64 or []),
        tier=tier,
        quality=quality,
        material=material,
        mesh_mode=mesh_mode,
        condition_mode=condition_mode,
        bounding_box=bounding_box,
        seed=seed,
        t_pose=t_pose,
        high_pack=high_pack,
    )
    order.check()
    if settings.current().confirm != "auto":
        await _ask_for_cost(context, chosen, order, agreed=confirm_cost)
    # Shielded: after a broken-off order, nobody would know whether the provider took it.
    ticket = await asyncio.shield(asyncio.to_thread(importing.place_order, chosen, order))
    await context.list_tools((poll_rodin_job_status.__name__, import_generated_asset.__name__))
    message = "Ordered. Ask poll_rodin_job_status (by use_tool) with this order_id every 10 seconds."
    return {"status": "success", "order_id": ticket.id, "message": message}


@tool(title="Poll Rodin Job Status", read_only=True, open_world=True)
async def poll_rodin_job_status(context: RequestContext, order_id: OrderId) -> OrderStatus:
    """How far an order of create_rodin_job is; it is remembered when Blender is restarted.

    order_id: what create_rodin_job gave.
    """
    found = await in_thread(context, lambda work: importing.progress(order_id, work.cancelled))
    told: OrderStatus = {"status": "success", "order_id": order_id, "state": found.state}
    if found.message:
        told["message"] = found.message
    return told


@tool(title="Import Generated Asset", open_world=True)
async def import_generated_asset(
    context: RequestContext,
    order_id: OrderId,
    name: Annotated[str, Bounds(shortest=1, longest=58)],
    target_size: Annotated[float | None, Bounds(0.0001, 100_000)] = None,
    location: Location = None,
) -> ImportResult:
    """Bring a generated model into the scene, as one undo step, standing at the 3D cursor.

    order_id: what create_rodin_job gave; poll_rodin_job_status must say done.
    name: what to call it.
    target_size: length of the longest side in metres; without it as it was generated, about a metre or two.
    location: where it stands, in metres, instead of the 3D cursor.
    """
    wanted = importing.prepare(order_id, name=name, size=target_size, location=location)
    return await bring_in(context, f"Import {name}", wanted)


@tool(title="Check Rodin Balance", read_only=True, open_world=True)
async def check_rodin_balance(context: RequestContext, provider: ProviderName | None = None) -> Balance:
    """The credits left on the user's account for create_rodin_job.

    provider: whose account; without it the provider that has a key.
    """
    chosen = importing.choose(provider)
    left = await in_thread(context, lambda work: importing.balance(chosen, work.cancelled))
    if left is None:
        message = (
            "fal.ai tells the balance only to a key with administrator's rights; it is shown on its site."
        )
        return {"provider": chosen, "credits": None, "message": message}
    return {"provider": chosen, "credits": left.amount, "unit": left.unit}


async def _pictures(context: RequestContext, names: list[str], encoded: list[str]) -> tuple[Picture, ...]:
    pictures = [decode(text) for text in encoded]
    if names:
        read = main_thread.run(
            lambda: [scene.picture(name) for name in names], changes=False, cancelled=context.cancelled
        )
        pictures = [*await asyncio.wrap_future(read), *pictures]
    return tuple(pictures)


async def _ask_for_cost(
    context: RequestContext, provider: ProviderName, order: Order, *, agreed: bool
) -> None:
    """Show the cost and ask the user; if nobody can be asked, `agreed` counts. Raises PolicyError."""
    if agreed and not whom_to_ask.somebody(context):
        return
    left = await in_thread(context, lambda work: importing.balance(provider, work.cancelled))
    has = f" The account has {left}." if left is not None else ""
    cost = "0.5 credit or more" if provider == "hyper3d" else "what fal.ai charges for a run"
    more = ", with High Pack more" if order.high_pack else ""
    question = f"Generate a model with Rodin ({order.tier})? It costs {cost}{more}.{has}"
    await ask_user(
        context,
        "cost",
        question,
        title="Generate with Rodin",
        otherwise=f"{question} Ask the user; if they agree, call again with confirm_cost=true.",
    )
