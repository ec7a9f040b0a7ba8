# SPDX-License-Identifier: GPL-3.0-or-later
"""The tools, one module for each family. To add a tool, write a marked function and add its name to `FURTHER`.

A model pays for every word of its list of tools. So the list has only the tools of `CORE`, without those of a service
that cannot be used now; `find_tools` finds the others, and `use_tool` calls them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from ...base import settings
from ...base.enabling import online
from ...base.settings import AssetService
from ..protocol.features import Tool
from . import (
    assets,
    batch,
    code,
    files,
    finding,
    history_tools,
    inject,
    job_tools,
    knowledge,
    looking,
    nodes,
    polyhaven,
    rehearse,
    render_tools,
    rodin,
    run_in_files,
    scene,
    sketchfab,
    timeline,
    transfer,
    viewport,
)
from .registry import make

__all__ = ("CORE", "FURTHER", "SERVICES", "all_tools", "out_of_use")

CORE = (
    scene.get_scene_info,
    scene.get_object_info,
    viewport.get_viewport_screenshot,
    code.execute_blender_code,
    inject.inject_bpy_script,
    rehearse.rehearse_script,
    code.calculate,
    code.inspect_tool,
    render_tools.render_image,
    job_tools.get_job,
    job_tools.cancel_job,
    job_tools.list_jobs,
    polyhaven.search_polyhaven_assets,
    polyhaven.download_polyhaven_asset,
    sketchfab.search_sketchfab_models,
    sketchfab.download_sketchfab_model,
    rodin.create_rodin_job,
    looking.look,
    batch.batch,
    files.export_file,
    history_tools.undo_request,
    finding.find_tools,
    finding.use_tool,
)
#: Tools that `find_tools` finds; only clients that want all tools have them in their list.
FURTHER: tuple[Callable[..., Any], ...] = (
    polyhaven.get_polyhaven_categories,
    polyhaven.set_texture,
    rodin.poll_rodin_job_status,
    rodin.import_generated_asset,
    rodin.check_rodin_balance,
    assets.get_asset_credits,
    files.save_file,
    files.save_copy,
    files.open_file,
    render_tools.render_animation,
    run_in_files.run_in_files,
    history_tools.list_changes,
    history_tools.wait_for_event,
    knowledge.search_api_docs,
    knowledge.get_api_docs,
    knowledge.list_operators,
    nodes.get_node_tree,
    nodes.set_node_tree,
    timeline.get_animation,
    timeline.set_frame,
    timeline.set_keyframes,
    looking.compare_views,
    scene.get_file_info,
    transfer.upload_file,
    transfer.import_file,
    transfer.download_file,
    transfer.list_files,
    transfer.remove_file,
)


#: The tools of each asset service.
SERVICES: Mapping[AssetService, tuple[Callable[..., Any], ...]] = {
    "polyhaven": (
        polyhaven.search_polyhaven_assets,
        polyhaven.get_polyhaven_categories,
        polyhaven.download_polyhaven_asset,
        polyhaven.set_texture,
    ),
    "sketchfab": (sketchfab.search_sketchfab_models, sketchfab.download_sketchfab_model),
    "hyper3d": (
        rodin.create_rodin_job,
        rodin.poll_rodin_job_status,
        rodin.import_generated_asset,
        rodin.check_rodin_balance,
    ),
}


def out_of_use() -> frozenset[str]:
    """Return the tools of services that cannot be reached now, or that lack a required key."""
    now = settings.current()
    keys = {"sketchfab": now.sketchfab_token, "hyper3d": now.hyper3d_key or now.fal_key}
    barred = online.current().barred
    return frozenset(
        function.__name__
        for service, functions in SERVICES.items()
        if barred(service) or not keys.get(service, "none is needed")
        for function in functions
    )


@cache
def all_tools() -> tuple[Tool, ...]:
    """Return every tool, in the order in which clients see them."""
    return (*map(make, CORE), *(make(function, listed=False) for function in FURTHER))
