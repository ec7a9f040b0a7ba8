# SPDX-License-Identifier: GPL-3.0-or-later
"""Send traces of requests to the user's OpenTelemetry collector. Without a collector nothing is recorded."""

from __future__ import annotations

import ipaddress
import json
import os
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from ..base.settings import header_fields
from ..base.telemetry import tracing
from ..base.telemetry.otlp import Counts, Exporter

if TYPE_CHECKING:
    from ..base.settings import Settings

__all__ = ("counts", "start", "stop", "traces_url")

#: The seconds that one message may take.
_SECONDS = 10.0
_MOST_ANSWER = 1 << 20
_PATH = "/v1/traces"

_exporter: Exporter | None = None


def start(chosen: Settings, version: str, instance_id: str) -> None:
    """Collect spans and send them to `chosen.otlp_endpoint`, if it is set."""
    global _exporter
    stop()
    if chosen.otlp_endpoint is None:
        return
    resource: Mapping[str, tracing.Attribute] = {
        "service.name": "mcp_bridge",
        "service.version": version,
        "service.instance.id": instance_id,
        "process.pid": os.getpid(),
        "telemetry.sdk.name": "mcp_bridge",
        "telemetry.sdk.language": "python",
    }
    _exporter = Exporter(_sender(chosen.otlp_endpoint, chosen.otlp_headers), resource)
    tracing.collect(_exporter.add)


def stop() -> None:
    """Send the remaining spans within a few seconds, and stop collecting. Does nothing if nothing is collected."""
    global _exporter
    exporter, _exporter = _exporter, None
    tracing.collect(None)
    if exporter is not None:
        exporter.close()


def counts() -> Counts:
    """Return the counts of spans since the start of the bridge."""
    return Counts() if _exporter is None else _exporter.counts


def traces_url(endpoint: str) -> str:
    """Return the URL for traces: the endpoint, with the path of OTLP/HTTP added unless it is already there."""
    base = endpoint.rstrip("/")
    return base if base.endswith(_PATH) else base + _PATH


def _sender(endpoint: str, headers: str | None) -> Any:
    url, extra = traces_url(endpoint), header_fields(headers or "")

    def send(body: bytes, broken_off: threading.Event) -> int:
        # Import HTTP and TLS with the first message, in its own thread: they would slow down the bridge's start.
        from ..importers.network import answers

        answer = answers.request(
            _site(url),
            url,
            credentials=extra,
            headers={"Content-Type": "application/json"},
            body=body,
            method="POST",
            cancelled=broken_off,
            seconds=_SECONDS,
            most=_MOST_ANSWER,
        )
        return _rejected(answer.data)

    return send


def _site(url: str) -> Any:
    """Return the collector as a `Site` for `answers.request`: an address that the user has chosen, like a mirror."""
    from ..base.enabling.online import COLLECTOR, THIS_COMPUTER
    from ..importers.network.transport import Site

    @dataclass(frozen=True, slots=True)
    class Collector(Site):
        @property
        def base(self) -> str:
            return url.rpartition("/")[0]

    service = THIS_COMPUTER if _is_loopback(urlsplit(url).hostname or "") else COLLECTOR
    return Collector(service, "The OpenTelemetry collector", "", "", ())


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _rejected(answer: bytes) -> int:
    """Return the number of spans that the collector rejected."""
    try:
        return int(json.loads(answer or b"{}")["partialSuccess"]["rejectedSpans"])
    except (ValueError, KeyError, TypeError):
        return 0
