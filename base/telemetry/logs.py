# SPDX-License-Identifier: GPL-3.0-or-later
"""Logging of the bridge: level, text or JSON lines, console or file. Does not change the logging of other add-ons."""

from __future__ import annotations

import json
import logging
from datetime import UTC, datetime
from logging.handlers import RotatingFileHandler
from pathlib import Path

from ..errors import SettingsError
from ..settings import Settings
from . import tracing

__all__ = ("configure", "reset")

#: Every module of the extension logs below this name.
ROOT = (__package__ or "mcp_bridge.base.telemetry").rsplit(".", 2)[0]
_FILE_BYTES = 5 * 1024 * 1024
_FILE_COUNT = 3


class _JsonFormatter(logging.Formatter):
    """One JSON object a line. The fields of a call's `extra={"fields": {…}}` are added to it."""

    def format(self, record: logging.LogRecord) -> str:
        entry = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name.removeprefix(f"{ROOT}."),
            "message": record.getMessage(),
            **tracing.fields(),
            **({} if tracing.rpc_id() is None else {"request_id": tracing.rpc_id()}),
            **getattr(record, "fields", {}),
        }
        if record.exc_info:
            entry["exception"] = self.formatException(record.exc_info)
        return json.dumps(entry, ensure_ascii=False, default=str)


def configure(settings: Settings, folder: Path) -> None:
    """Set up logging from the settings; the default log file is in `folder`. Replaces the earlier setup.

    Raises SettingsError when the file cannot be opened.
    """
    handler: logging.Handler
    if settings.log_handler == "file":
        path = settings.log_file or folder / "blender_mcp.log"
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            handler = RotatingFileHandler(
                path, maxBytes=_FILE_BYTES, backupCount=_FILE_COUNT, encoding="utf-8"
            )
        except OSError as error:
            raise SettingsError(f"The log file {path} cannot be opened: {error.strerror or error}.") from None
    else:
        handler = logging.StreamHandler()
    text = logging.Formatter("%(asctime)s %(levelname)s MCP Bridge: %(message)s")
    handler.setFormatter(_JsonFormatter() if settings.log_format == "json" else text)
    reset()
    logger = logging.getLogger(ROOT)
    logger.addHandler(handler)
    logger.setLevel(settings.log_level)
    logger.propagate = False


def reset() -> None:
    """Remove the handler that `configure` added."""
    logger = logging.getLogger(ROOT)
    for handler in tuple(logger.handlers):
        logger.removeHandler(handler)
        handler.close()
    logger.propagate = True
