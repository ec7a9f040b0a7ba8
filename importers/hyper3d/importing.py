# SPDX-License-Identifier: GPL-3.0-or-later
"""Place an order, follow its progress, and import the finished model. Worker threads."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import Any

from ...base import folders, settings
from ...base.errors import ExternalServiceError, InvalidParamsError, PolicyError
from ...base.flag import Flag
from ..append import Imported, append, timed
from ..credit import Credit
from ..import_plan import ImportPlan
from ..network import attempts, download, keys
from ..network.remote_file import RemoteFile
from ..network.transport import Broken, Site, TooSlow
from ..opening import foreign
from ..work import Work
from .api import FAL, MAIN, Balance, Fal, MainSite, Order, Progress, Provider, ProviderName, Ticket
from .orders import Orders, Placed

__all__ = ("balance", "choose", "orders", "place_order", "prepare", "progress", "run", "wait_until_done")

_ASK_EVERY_S = 5.0
_STEP = 0.06


def orders() -> Orders:
    """The orders of this user."""
    return Orders(folders.user_folder() / "rodin")


def choose(provider: ProviderName | None) -> ProviderName:
    """The given provider, or the one with a key. Raises PolicyError without a key."""
    now = settings.current()
    keys: dict[ProviderName, str | None] = {"hyper3d": now.hyper3d_key, "fal": now.fal_key}
    wanted: Sequence[ProviderName] = [provider] if provider else ["hyper3d", "fal"]
    found = next((name for name in wanted if keys[name]), None)
    if found is None:
        raise PolicyError(
            "Generating needs the user's own API key of Hyper3D (developer.hyper3d.ai) or of fal.ai: in the "
            "preferences of MCP Bridge, or in BLENDER_MCP_HYPER3D_KEY or BLENDER_MCP_FAL_KEY.",
            code="no_key",
        )
    return found


def balance(provider: ProviderName, cancelled: Flag | None = None) -> Balance | None:
    """The balance of the account; None if the provider does not show it to this key."""
    return _provider(provider, cancelled).balance()


def place_order(provider: ProviderName, order: Order) -> Ticket:
    """Send an order and store its ticket. It is never sent again after an error: each order is billed.

    Nor can it be cancelled once it has started: it would be unknown whether the service accepted it.
    """
    try:
        ticket = _provider(provider, None).submit(order)
    except (Broken, TooSlow) as error:
        raise ExternalServiceError(
            f"{error}. Whether the order was taken is not known: look at your account before you order again."
        ) from error
    orders().add(ticket, order.prompt.strip()[:200] or "pictures")
    return ticket


def progress(order_id: str, cancelled: Flag | None = None) -> Progress:
    """The progress of an order."""
    ticket = orders().get(order_id).ticket
    return _provider(ticket.provider, cancelled).progress(ticket)


def wait_until_done(work: Work, order_id: str) -> None:
    """Check the order every few seconds until it is done. Raises ExternalServiceError when the order fails, and
    Cancelled; the order itself then goes on.
    """
    percent = 1.0
    while (found := progress(order_id, work.cancelled)).state in ("waiting", "generating"):
        percent += (80.0 - percent) * _STEP  # the duration is unknown: approach 80 ever more slowly
        work.report(percent, f"{found.state.title()}: {found.message}".rstrip(": "))
        attempts.wait(_ASK_EVERY_S, work.cancelled)
    if found.state != "done":
        raise ExternalServiceError(f"The order has {found.state}. {found.message}".strip())


def prepare(
    order_id: str, *, name: str, size: float | None = None, location: Sequence[float] | None = None
) -> ImportPlan:
    """The import plan of a finished order; see `run`. The service does not tell the size."""
    return ImportPlan(
        name, None, run=lambda work: run(work, order_id, name=name, size=size, location=location)
    )


def run(
    work: Work, order_id: str, *, name: str, size: float | None, location: Sequence[float] | None
) -> Imported:
    """Fetch the generated model, open it and append it with this name, on the ground at `location` or the 3D cursor."""
    placed = orders().get(order_id)
    provider = _provider(placed.ticket.provider, work.cancelled)
    found = provider.progress(placed.ticket)
    if found.state != "done":
        raise InvalidParamsError(f"The order is {found.state}, not done. {found.message}".strip())
    remote = _model(provider.files(placed.ticket))
    with foreign.scratch(work.supervisor) as folder:
        path = folder / "model.glb"
        download.fetch(
            _site(placed.ticket.provider), remote, path, progress=work.downloaded(), cancelled=work.cancelled
        )
        job: dict[str, Any] = {"format": "gltf", "file": path.name, "title": name, "collections": []}
        job |= {"size": size, "ground": True, "unwrap": True}
        work.opening()
        with foreign.opened(work, job, {PurePosixPath(path.name): path}) as clean:
            return work.in_blender(timed(lambda: append(clean, _credit(placed, name), location)))


def _model(files: dict[str, RemoteFile]) -> RemoteFile:
    """The GLB with the full material, or the only one. Pictures and previews lie beside it."""
    models = {name: file for name, file in files.items() if name.lower().endswith(".glb")}
    if not models:
        listed = ", ".join(sorted(files)[:8]) or "nothing"
        raise ExternalServiceError(f"The order has no GLB model; there is {listed}. Try again in a minute.")
    return models[min(models, key=lambda name: ("pbr" not in name.lower(), name))]


def _credit(placed: Placed, name: str) -> Credit:
    return Credit(
        service=MAIN.name,
        id=placed.ticket.id,
        title=name,
        author="",
        licence="terms of Hyper3D",
        licence_url="https://hyper3d.ai/legal/terms",
        note=f"generated from: {placed.title}",
    )


def _site(provider: ProviderName) -> Site:
    return MAIN if provider == "hyper3d" else FAL


def _provider(name: ProviderName, cancelled: Flag | None) -> Provider:
    choose(name)
    now = settings.current()
    if name == "hyper3d":
        return MainSite(keys.check(MAIN.name, now.hyper3d_key or ""), cancelled)
    return Fal(keys.check(FAL.name, now.fal_key or ""), cancelled)
