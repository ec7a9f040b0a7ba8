# SPDX-License-Identifier: GPL-3.0-or-later
"""Flamenco 3, the farm of Blender Studio: by the REST interface of its manager, with its own `simple-blender-render`.

Paths and fields are those of the manager's OpenAPI document (`pkg/api/flamenco-openapi.yaml` of its source). The
manager decides how its workers start Blender, so a file with scripts goes there only if that leaves the scripts
switched off.
"""

from __future__ import annotations

import ipaddress
import json
import re
import sys
from collections.abc import Collection, Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from ...base.enabling import online
from ...base.errors import ExternalServiceError, PolicyError
from ...importers.network import answers, transport
from ...importers.network.transport import Site
from . import bundle
from .engines import Seen, Task
from .order import FarmJob
from .targets import Target

__all__ = ("FILES", "VIDEO", "WORKERS", "blender", "cancel", "look", "start", "submit")

VIDEO, FILES, WORKERS = False, False, 8
_TYPE = "simple-blender-render"
#: The metadata by which the manager finds our jobs.
_METADATA = {"application": "MCP Bridge"}
_LIVE = ("active", "paused", "queued", "requeueing", "under-construction", "cancel-requested")
_SECONDS, _MOST = 20.0, 8 << 20
_ID = re.compile(r"[0-9a-fA-F-]{36}")
_PLATFORMS = {"linux": "linux", "darwin": "darwin", "win32": "windows"}
_RUNS_SCRIPTS = frozenset({"-y", "--enable-autoexec"})
_MOST_TOLD = 3


def blender(target: Target, _job: FarmJob) -> str:
    """Return the program for a bundle that a person submits by hand: the manager decides what its workers start."""
    return target.blender


def start(_job: FarmJob) -> Sequence[str]:
    """Return Blender's own arguments, for a bundle that a person submits by hand."""
    return bundle.BLENDER


def submit(target: Target, task: Task) -> str:
    """Submit a task; return the manager's id. Raises PolicyError if scripts of the file would run, BridgeError."""
    job = task.job
    if job.scripts:
        _require_no_scripts(target, job)
    frames = [frame for chunk in task.chunks for frame in chunk]
    results = f"{job.bundle}/results"
    said = _ask(
        target,
        "/api/v3/jobs",
        {
            "name": bundle.job_name(job.title),
            "type": _TYPE,
            "priority": 50,
            "submitter_platform": _PLATFORMS.get(sys.platform, "linux"),
            "metadata": dict(_METADATA),
            "settings": {
                "blendfile": f"{job.bundle}/{bundle.SCENE}",
                "frames": spans(frames),
                "chunk_size": max(map(len, task.chunks)),
                "format": "PNG",
                "image_file_extension": ".png",
                "has_previews": False,
                "render_output_root": results,
                "add_path_components": 0,
                "render_output_path": f"{results}/frame_######",
            },
        },
    )
    return _id(said)


def look(target: Target, engine_ids: Collection[str]) -> Mapping[str, Seen]:
    """Return the state of these jobs: one question for all that run, one more for each that has ended."""
    said = _ask(target, "/api/v3/jobs/query", {"metadata": dict(_METADATA), "status_in": list(_LIVE)})
    live = {_id(one) for one in _list(said, "jobs")}
    return {
        engine_id: Seen(True) if engine_id in live else _ended(target, engine_id) for engine_id in engine_ids
    }


def cancel(target: Target, engine_id: str) -> None:
    """Ask the manager to end a job."""
    reason = {"status": "cancel-requested", "reason": "cancelled in MCP Bridge"}
    _ask(target, f"/api/v3/jobs/{engine_id}/setstatus", reason)


def spans(frames: Sequence[int]) -> str:
    """Return frames in the form of the job type: `1-3,7`."""
    found: list[list[int]] = []
    for frame in sorted(frames):
        if found and frame == found[-1][1] + 1:
            found[-1][1] = frame
        else:
            found.append([frame, frame])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in found)


def _require_no_scripts(target: Target, job: FarmJob) -> None:
    platform = _PLATFORMS.get(sys.platform, "linux")
    said = _ask(target, f"/api/v3/configuration/variables/workers/{platform}")
    variable = said.get("blenderArgs") if isinstance(said, dict) else None
    value = variable.get("value") if isinstance(variable, dict) else None
    if isinstance(value, str) and not _RUNS_SCRIPTS & set(value.split()):
        return
    raise PolicyError(
        f"The file has scripts ({', '.join(job.scripts[:5])}), and workers of {target.name} would run them: the "
        f"manager's variable blenderArgs is {value!r}. Take -y out of it, or the scripts out of the file.",
        code="scripts",
    )


def _ended(target: Target, engine_id: str) -> Seen:
    """Return why a job has ended, and on which worker."""
    job = _ask(target, f"/api/v3/jobs/{engine_id}")
    status = job.get("status") if isinstance(job, dict) else None
    if status in _LIVE:  # it runs again, since the first question
        return Seen(True)
    failed = [
        one
        for one in _list(_ask(target, f"/api/v3/jobs/{engine_id}/tasks"), "tasks")
        if isinstance(one, dict) and one.get("status") == "failed"
    ]
    told, workers = [], []
    for one in failed[:_MOST_TOLD]:
        task = _ask(target, f"/api/v3/tasks/{_id(one)}")
        worker = task.get("worker") if isinstance(task, dict) else None
        workers.append(_text(worker.get("name")) if isinstance(worker, dict) else "")
        told.append(f"task {_text(task.get('name'))}: {_text(task.get('activity'))}")
    return Seen(False, "; ".join([f"the job is {_text(status)}", *told]), next(filter(None, workers), ""))


def _ask(target: Target, path: str, body: dict[str, Any] | None = None) -> Any:
    """Return the manager's answer. Raises ExternalServiceError with its own words."""
    site = _site(target)
    data = None if body is None else json.dumps(body).encode()
    headers = {"Accept": "application/json"} | ({"Content-Type": "application/json"} if data else {})
    try:
        answer = answers.request(site, path, body=data, headers=headers, seconds=_SECONDS, most=_MOST)
    except transport.HttpError as error:
        raise ExternalServiceError(f"{site.name} refused ({error.status}): {_message(error.data)}") from None
    return answer.json() if answer.data else {}


def _site(target: Target) -> Site:
    address = target.options["address"]
    host = urlsplit(address).hostname or ""
    try:
        here = host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        here = False
    service = online.THIS_COMPUTER if here else online.COLLECTOR
    return Site(service, f"The Flamenco manager {host}", "", address, (), named=True)


def _message(data: bytes) -> str:
    try:
        said = json.loads(data)
        return _text(said["message"])
    except (ValueError, TypeError, KeyError, RecursionError):
        return "it gave no reason"


def _id(said: Any) -> str:
    found = said.get("id") if isinstance(said, dict) else None
    if not isinstance(found, str) or not _ID.fullmatch(found):
        raise ExternalServiceError(
            f"The Flamenco manager named {str(found)[:60]!r} as an id, and that is no id."
        )
    return found


def _list(said: Any, name: str) -> list[Any]:
    found = said.get(name) if isinstance(said, dict) else None
    if found is None:  # Go writes an empty list as null
        return []
    if not isinstance(found, list):
        raise ExternalServiceError(f"The Flamenco manager answered without a list of {name}.")
    return found


def _text(value: Any) -> str:
    """Return a text of the manager's as one line."""
    return "".join(sign if sign.isprintable() else " " for sign in str(value or "")[:300]).strip()
