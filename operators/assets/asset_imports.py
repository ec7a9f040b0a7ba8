# SPDX-License-Identifier: GPL-3.0-or-later
"""The imports of the panel Assets. Worker threads. Each function returns the text to show at the end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...base import settings
from . import asset_view

if TYPE_CHECKING:
    from ...importers.append import Imported
    from ...importers.browse import Entry
    from ...importers.import_plan import ImportPlan
    from ...importers.work import Work

__all__ = ("generate", "import_shown", "switch_resolution")


def import_shown(
    work: Work,
    entry: Entry,
    agreed: bool,
    resolution: str,
    size: float | None,
    mark: bool,
    password: str | None,
    target: asset_view.Target,
) -> str:
    """Import an entry of the grid. Raises Asked if the user has to agree to a large download first."""
    from ...importers.import_asset import import_asset
    from ...importers.import_plan import size_question

    if entry.service == "polyhaven":
        plan = _plan_polyhaven(work, entry, resolution, target)
    else:
        plan = _plan_sketchfab(work, entry, size, password, target)
    if (question := size_question(plan)) and not agreed:
        raise asset_view.Asked(asset_view.Question(entry.id, question, target, password or ""))
    return _report(import_asset(work, plan, mark=mark, entry=entry))


def _plan_polyhaven(work: Work, entry: Entry, resolution: str, target: asset_view.Target) -> ImportPlan:
    from ...importers.polyhaven import planning

    plan = planning.plan(work, entry.id, usual=resolution)
    if plan.maps and target.onto:
        return planning.prepare_textures(plan, target.onto)
    return planning.prepare(plan, location=target.location)


def _plan_sketchfab(
    work: Work, entry: Entry, size: float | None, password: str | None, target: asset_view.Target
) -> ImportPlan:
    from ...importers.sketchfab import importing
    from ...importers.sketchfab.api import Sketchfab

    model = Sketchfab(settings.current().sketchfab_token, work.cancelled, password).model(entry.id)
    # The dialog has shown the entry's licence.
    return importing.prepare(
        model, accepted_licence=entry.licence, size=size, location=target.location, password=password
    )


def switch_resolution(work: Work, asset_id: str, resolution: str) -> str:
    """Replace an asset's pictures in this file by another resolution, or by the next smaller one that is offered."""
    from ...importers.import_asset import import_asset
    from ...importers.polyhaven import planning

    plan = planning.plan(work, asset_id, usual=resolution)
    imported = import_asset(work, planning.prepare(plan, switch=True))
    return f"{imported.credit.title} has its pictures in {plan.resolution.upper()} now"


def generate(work: Work, prompt: str, size: float | None, mark: bool) -> str:
    """Order a model, wait until it is made, and import it."""
    from ...importers.hyper3d import importing
    from ...importers.hyper3d.api import Order
    from ...importers.import_asset import import_asset

    work.report(1.0, "Ordering")
    ticket = importing.place_order(importing.choose(None), Order(prompt))
    importing.wait_until_done(work, ticket.id)
    return _report(import_asset(work, importing.prepare(ticket.id, name=prompt[:58], size=size), mark=mark))


def _report(imported: Imported) -> str:
    """A sentence that says what was imported, and where it is: a texture may be on objects or on none yet."""
    title = imported.credit.title
    if imported.onto:
        onto = imported.onto[0] if len(imported.onto) == 1 else f"{len(imported.onto)} objects"
        return f"Put {title} onto {onto}"
    if imported.materials and not imported.objects:
        return f"Imported {title} as a material: no object was selected that could take it"
    return f"Imported {title}"
