# SPDX-License-Identifier: GPL-3.0-or-later
"""Order a model from Rodin: the main site and fal.ai behind one interface. No `bpy`.

An order costs money, so it is sent exactly once. Source: developer.hyper3d.ai, docs.fal.ai (queue).
"""

from __future__ import annotations

import base64
import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any, Literal, Protocol, get_args

from ...base.errors import ExternalServiceError, InvalidParamsError, PolicyError
from ...base.flag import Flag
from ..network import answers
from ..network.answers import Answer
from ..network.remote_file import RemoteFile
from ..network.transport import HttpError, Site

__all__ = (
    "FAL",
    "MAIN",
    "Balance",
    "Fal",
    "MainSite",
    "Order",
    "Picture",
    "Progress",
    "Provider",
    "ProviderName",
    "Ticket",
    "Tier",
)

ProviderName = Literal["hyper3d", "fal"]
Tier = Literal[
    "Sketch",
    "Regular",
    "Detail",
    "Smooth",
    "Gen-2",
    "Gen-2.5-Extreme-Low",
    "Gen-2.5-Low",
    "Gen-2.5-Medium",
    "Gen-2.5-High",
    "Gen-2.5-Extreme-High",
]
State = Literal["waiting", "generating", "done", "failed", "cancelled"]

MAIN = Site(
    "hyper3d",
    "Hyper3D Rodin",
    "BLENDER_MCP_HYPER3D_API",
    "https://api.hyper3d.com",
    # The hosts of results are not documented. These are the known ones, present and past: only domains of the service
    # itself, none of a storage service that other customers use as well.
    ("file.hyper3d.com", "file.hyper3d.ai", "hyperhuman-file.deemos.com"),
)
FAL = Site("hyper3d", "fal.ai", "BLENDER_MCP_FAL_API", "https://queue.fal.run", (".fal.media",))
#: The address for fal.ai's account data; orders go to `FAL`.
FAL_ACCOUNT = Site("hyper3d", "fal.ai", FAL.variable, "https://api.fal.ai", ())
_FAL_PATH = "/fal-ai/hyper3d/rodin"
#: Tier -> the part of fal.ai's model name; fal.ai does not offer the other tiers.
_FAL_VERSIONS: Mapping[str, str] = {"Sketch": "", "Regular": "", "Gen-2": "/v2"} | {
    tier: "/v2.5" for tier in get_args(Tier) if tier.startswith("Gen-2.5")
}
#: Seconds for an order: it uploads pictures and must not stop half-way.
_SUBMIT_S = 300.0


@dataclass(frozen=True, slots=True)
class Picture:
    """An input picture: its bytes as PNG, JPEG or WebP."""

    data: bytes
    kind: Literal["png", "jpeg", "webp"]


@dataclass(frozen=True, slots=True)
class Order:
    """The input of an order. `bounding_box`: the proportions [width (Y), height (Z), length (X)]."""

    prompt: str = ""
    pictures: tuple[Picture, ...] = ()
    tier: Tier = "Regular"
    quality: Literal["high", "medium", "low", "extra-low"] = "medium"
    material: Literal["PBR", "Shaded", "All", "None"] = "PBR"
    mesh_mode: Literal["Raw", "Quad"] = "Quad"
    condition_mode: Literal["concat", "fuse"] = "concat"
    bounding_box: tuple[int, int, int] | None = None
    seed: int | None = None
    t_pose: bool = False
    high_pack: bool = False

    def check(self) -> None:
        """Raise InvalidParamsError if the order has neither a prompt nor a picture, or too many pictures."""
        if not self.prompt.strip() and not self.pictures:
            raise InvalidParamsError("Give a prompt, pictures, or both.")
        if len(self.pictures) > 5:
            raise InvalidParamsError(f"Rodin takes at most 5 pictures, not {len(self.pictures)}.")


@dataclass(frozen=True, slots=True)
class Ticket:
    """An accepted order. `facts` are what its provider needs to find it again."""

    id: str
    provider: ProviderName
    facts: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Progress:
    """The progress of an order, and a message about it."""

    state: State
    message: str = ""


@dataclass(frozen=True, slots=True)
class Balance:
    """The balance of an account; `unit` is "credits" or a currency."""

    amount: float
    unit: str

    def __str__(self) -> str:
        return f"{self.amount:g} {self.unit}".rstrip()


class Provider(Protocol):
    """A service that takes orders. Each method raises ExternalServiceError, PolicyError for a bad key, Cancelled."""

    def submit(self, order: Order) -> Ticket:
        """Send an order; it costs money."""

    def progress(self, ticket: Ticket) -> Progress:
        """The progress of an order."""

    def files(self, ticket: Ticket) -> dict[str, RemoteFile]:
        """The result files by plain file name. They exist only after the order is done, and for some minutes."""

    def balance(self) -> Balance | None:
        """The balance of the account; None if the provider does not show it to this key."""


class MainSite:
    """Hyper3D's own service."""

    _STATES: Mapping[str, State] = {
        "Waiting": "waiting",
        "Generating": "generating",
        "Done": "done",
        "Failed": "failed",
        "Canceled": "cancelled",
    }

    def __init__(self, key: str, cancelled: Flag | None = None) -> None:
        self._key = key
        self._cancelled = cancelled

    def submit(self, order: Order) -> Ticket:
        """Order a model. Raises InvalidParamsError and ExternalServiceError."""
        order.check()
        fields = {"geometry_file_format": "glb", **_options(order)}
        if order.prompt.strip():
            fields["prompt"] = order.prompt.strip()
        if len(order.pictures) > 1:
            fields["condition_mode"] = order.condition_mode
        body, content_type = _multipart(fields, order.pictures)
        found = self._ask("/api/v2/rodin", body, content_type, seconds=_SUBMIT_S)
        jobs = found.get("jobs")
        key = jobs.get("subscription_key") if isinstance(jobs, Mapping) else None
        if not isinstance(found.get("uuid"), str) or not isinstance(key, str):
            raise _odd(
                MAIN, "an order", "It may have been taken: look at your account before you order again."
            )
        return Ticket(found["uuid"], "hyper3d", {"subscription_key": key})

    def progress(self, ticket: Ticket) -> Progress:
        """The progress of an order. Raises ExternalServiceError."""
        found = self._post("/api/v2/status", {"subscription_key": ticket.facts["subscription_key"]})
        jobs = found.get("jobs")
        words = (
            [str(job.get("status")) for job in jobs if isinstance(job, Mapping)]
            if isinstance(jobs, list)
            else []
        )
        unknown = next((word for word in words if word not in self._STATES), None)
        if not words or unknown is not None:
            said = f"the unknown state {unknown!r}" if words else "no jobs"
            raise ExternalServiceError(f"{MAIN.name} reported {said} of this order.")
        states = [self._STATES[word] for word in words]
        done = f"{states.count('done')} of {len(states)} steps done"
        for state in ("failed", "cancelled", "generating"):
            if state in states:
                return Progress(state, done)
        return Progress(
            "done" if set(states) == {"done"} else "generating" if "done" in states else "waiting", done
        )

    def files(self, ticket: Ticket) -> dict[str, RemoteFile]:
        """The files of a finished order by name. Raises ExternalServiceError."""
        found = self._post("/api/v2/download", {"task_uuid": ticket.id}).get("list")
        items = [item for item in found if isinstance(item, Mapping)] if isinstance(found, list) else []
        return {
            _base_name(item["name"]): RemoteFile(item["url"])
            for item in items
            if isinstance(item.get("name"), str) and isinstance(item.get("url"), str)
        }

    def balance(self) -> Balance | None:
        """The balance of the account; None if the service does not show it."""
        return _balance(MAIN, _object(self._call("/api/v2/check_balance")).get("balance"), "credits")

    def _post(self, path: str, data: Mapping[str, str]) -> Mapping[str, Any]:
        return self._ask(path, json.dumps(data).encode(), "application/json")

    def _ask(self, path: str, body: bytes, content_type: str, **more: float) -> Mapping[str, Any]:
        found = _object(self._call(path, body=body, headers={"Content-Type": content_type}, **more))
        if found.get("error") not in (None, "", "OK"):  # an error may come with a success status
            raise _refused(MAIN, str(found.get("message") or found["error"]))
        return found

    def _call(self, path: str, **more: Any) -> Answer:
        return _call(MAIN, path, {"Authorization": f"Bearer {self._key}"}, self._cancelled, **more)


class Fal:
    """The same models through fal.ai's queue."""

    def __init__(self, key: str, cancelled: Flag | None = None) -> None:
        self._key = key
        self._cancelled = cancelled

    def submit(self, order: Order) -> Ticket:
        """Order a model. Raises InvalidParamsError and ExternalServiceError."""
        order.check()
        version = _FAL_VERSIONS.get(order.tier)
        if version is None:
            raise InvalidParamsError(
                f"fal.ai does not offer the tier {order.tier}; it has {', '.join(_FAL_VERSIONS)}."
            )
        found = self._ask(_FAL_PATH + version, self._body(order, version), seconds=_SUBMIT_S)
        facts = {name: found.get(name) for name in ("status_url", "response_url")}
        if not isinstance(found.get("request_id"), str) or not all(map(_is_fal, facts.values())):
            raise _odd(
                FAL, "an order", "It may have been taken: look at your account before you order again."
            )
        return Ticket(found["request_id"], "fal", {name: str(url) for name, url in facts.items()})

    def progress(self, ticket: Ticket) -> Progress:
        """The progress of an order. Raises ExternalServiceError."""
        found = self._ask(ticket.facts["status_url"])
        status, error = found.get("status"), found.get("error")
        if status == "COMPLETED":
            return Progress("failed", str(error)) if error else Progress("done")
        if status == "IN_QUEUE":
            return Progress("waiting", f"number {found.get('queue_position', '?')} in the queue")
        if status == "IN_PROGRESS":
            return Progress("generating")
        return Progress("failed", str(error or f"fal.ai reported the unknown state {status!r}"))

    def files(self, ticket: Ticket) -> dict[str, RemoteFile]:
        """The files of a finished order by name. Raises ExternalServiceError."""
        mesh = self._ask(ticket.facts["response_url"]).get("model_mesh")
        if not isinstance(mesh, Mapping) or not isinstance(mesh.get("url"), str):
            raise _odd(FAL, "the result")
        name = _base_name(str(mesh.get("file_name") or PurePosixPath(mesh["url"].partition("?")[0]).name))
        size = mesh.get("file_size")
        return {name: RemoteFile(mesh["url"], size=size if isinstance(size, int) and size > 0 else None)}

    def balance(self) -> Balance | None:
        """The balance of the account; None if the service does not show it."""
        try:
            answer = answers.request(
                FAL_ACCOUNT,
                "/v1/account/billing",
                query={"expand": "credits"},
                credentials={"Authorization": f"Key {self._key}"},
                cancelled=self._cancelled,
            )
        except HttpError as error:
            if error.status in (401, 403):
                return None  # only an administrator's key may read it; any other key can still order
            raise
        found = _object(answer).get("credits")
        values = found if isinstance(found, Mapping) else {}
        return _balance(FAL, values.get("current_balance"), str(values.get("currency") or ""))

    def _body(self, order: Order, version: str) -> bytes:
        data: dict[str, Any] = {
            "prompt": order.prompt.strip(),
            "geometry_file_format": "glb",
            **_options(order),
        }
        if version:  # the tier is the model
            data.pop("tier")
        if version == "/v2.5":
            data["quality_mesh_option"] = data.pop("quality")
        if order.pictures:
            urls = [
                f"data:image/{one.kind};base64,{base64.b64encode(one.data).decode()}"
                for one in order.pictures
            ]
            data["image_urls" if version == "/v2.5" else "input_image_urls"] = urls
            data["condition_mode"] = order.condition_mode
        return json.dumps(data).encode()

    def _ask(self, path: str, body: bytes | None = None, **more: float) -> Mapping[str, Any]:
        headers = {"Content-Type": "application/json"} if body is not None else {}
        credentials = {"Authorization": f"Key {self._key}"}
        return _object(_call(FAL, path, credentials, self._cancelled, body=body, headers=headers, **more))


def _options(order: Order) -> dict[str, Any]:
    """The options that have the same names for both providers."""
    named: dict[str, Any] = {
        "tier": order.tier,
        "quality": order.quality,
        "material": order.material,
        "mesh_mode": order.mesh_mode,
        "seed": order.seed,
        "TAPose": True if order.t_pose else None,
        "addons": ["HighPack"] if order.high_pack else None,
        "bbox_condition": list(order.bounding_box) if order.bounding_box else None,
    }
    return {name: value for name, value in named.items() if value is not None}


def _multipart(fields: Mapping[str, Any], pictures: tuple[Picture, ...]) -> tuple[bytes, str]:
    """A form with files (RFC 7578): its bytes and its content type."""
    boundary = secrets.token_hex(16)
    parts = [
        f'Content-Disposition: form-data; name="{name}"\r\n\r\n{value}'.encode()
        for name, values in fields.items()
        for value in (values if name == "addons" else [_form_value(values)])
    ]
    for number, one in enumerate(pictures):
        head = f'Content-Disposition: form-data; name="images"; filename="{number}.{one.kind}"\r\n'
        parts.append(f"{head}Content-Type: image/{one.kind}\r\n\r\n".encode() + one.data)
    mark = f"--{boundary}\r\n".encode()
    body = b"".join(mark + part + b"\r\n" for part in parts) + f"--{boundary}--\r\n".encode()
    return body, f"multipart/form-data; boundary={boundary}"


def _form_value(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _call(
    site: Site, path: str, credentials: Mapping[str, str], cancelled: Flag | None, **more: Any
) -> Answer:
    try:
        return answers.request(site, path, credentials=credentials, cancelled=cancelled, **more)
    except HttpError as error:
        if error.status == 401:
            raise PolicyError(
                f"{site.name} does not accept the API key. Copy it again from the site into the preferences of MCP "
                "Bridge.",
                code="bad_key",
            ) from None
        raise _refused(site, str(error)) from None


def _refused(site: Site, reason: str) -> ExternalServiceError:
    if any(word in reason.lower() for word in ("insufficient", "balance", "402 ")):
        return ExternalServiceError(f"The account at {site.name} has not enough credit: {reason}")
    return ExternalServiceError(f"{site.name} refused: {reason}")


def _object(answer: Answer) -> Mapping[str, Any]:
    found = answer.json()
    if not isinstance(found, Mapping):
        raise _odd(answer.site, "a question")
    return found


def _odd(site: Site, what: str, more: str = "") -> ExternalServiceError:
    return ExternalServiceError(
        f"{site.name} answered {what} in a form that MCP Bridge does not know. {more}".strip()
    )


def _balance(site: Site, amount: Any, unit: str) -> Balance:
    if not isinstance(amount, int | float):
        raise _odd(site, "the balance")
    return Balance(float(amount), unit)


def _is_fal(url: Any) -> bool:
    return isinstance(url, str) and url.startswith(FAL.base + "/")


def _base_name(name: str) -> str:
    return name.replace("\\", "/").rpartition("/")[2]
