# SPDX-License-Identifier: GPL-3.0-or-later
"""Every setting of the bridge, each declared in one place."""

# ruff: noqa: RUF009 — `declare` makes a field with an immutable default

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Literal, get_args

from . import values
from .setting import Section, declare

__all__ = (
    "ASSETS",
    "DEFAULT_PORT",
    "EXECUTION",
    "FILES",
    "RECORDS",
    "SERVER",
    "AssetService",
    "Confirm",
    "Level",
    "Rehearse",
    "Settings",
    "Source",
)

DEFAULT_PORT = 9876
_UNREHEARSED_S = 10.0

Level = Literal["arithmetic", "math", "blender"]
Confirm = Literal["panel", "client", "auto"]
Rehearse = Literal["possible", "always", "asking", "never"]
AssetService = Literal["polyhaven", "sketchfab", "hyper3d"]
Source = Literal["preferences", ".env file", "environment", "command line", "policy file"]

SERVER = Section("Server")
EXECUTION = Section("Execution")
FILES = Section("Files")
ASSETS = Section("Assets")
RECORDS = Section("Journal and Log", closed=True)

_LOG_LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")
_PATH = MappingProxyType({"subtype": "FILE_PATH"})
_PASSWORD = MappingProxyType({"subtype": "PASSWORD"})


@dataclass(frozen=True, slots=True)
class Settings:
    """Every setting of the bridge. Times in seconds, sizes as the name says. Immutable."""

    host: str = declare(
        "127.0.0.1",
        values.text,
        "The address to listen on",
        more="`127.0.0.1` is this computer alone.",
        variable="BLENDER_HOST",
    )
    port: int = declare(
        DEFAULT_PORT,
        values.Whole(1024, 65535),
        "Where assistants connect. When the standard port is taken, the next free one is used",
        more="A port that you name stays as it is.",
        variable="BLENDER_PORT",
        label="Port",
        section=SERVER,
    )
    allowed_hosts: tuple[str, ...] = declare(
        (),
        values.names,
        "More names that a client may use for this computer, with commas between them: for containers and WSL",
        variable="BLENDER_MCP_ALLOWED_HOSTS",
    )
    token: str | None = declare(
        None,
        values.token,
        "One more token that lets a client in, besides those that the panel gave out",
        variable="BLENDER_MCP_TOKEN",
        secret=True,
    )
    autostart: bool = declare(
        False,
        values.flag,
        "Let assistants connect as soon as Blender is up",
        label="Start with Blender",
        section=SERVER,
    )
    max_message_bytes: int = declare(
        64 * 1024 * 1024,
        values.Whole(64 * 1024, 1024 * 1024 * 1024),
        "The largest message from a client, in bytes",
    )
    max_connections: int = declare(64, values.Whole(1, 1024), "How many connections may be in use at once")
    max_in_flight: int = declare(
        64, values.Whole(1, 1024), "How many requests of one client may be under way at once"
    )

    execute_enabled: bool = declare(
        True,
        values.flag,
        "Assistants run Python scripts in this Blender, within the limits set here. "
        "Off: they run none, but still look at the scene, import and render",
        more="While it is off, no tool runs a script, in a rehearsal either.",
        variable="BLENDER_MCP_EXECUTE",
        label="Let assistants run scripts",
        section=EXECUTION,
    )
    confirm: Confirm | None = declare(
        None,
        values.Choice(get_args(Confirm)),
        "Where you are asked before an assistant's script runs",
        more="`panel`, `client`, or `auto` for nowhere. Empty: the panel where Blender has a window, else the client.",
        variable="BLENDER_MCP_CONFIRM",
        label="Ask Me",
        section=EXECUTION,
        choices=(
            ("panel", "Here", "The script waits in the MCP panel until you allow it"),
            ("client", "In the Client", "The program that the assistant runs in asks you"),
            ("auto", "Never", "Scripts run without asking you, within the limits and as one undo step each"),
        ),
    )
    rehearse: Rehearse = declare(
        "possible",
        values.Choice(get_args(Rehearse)),
        "Which scripts are rehearsed (run on a copy of the scene, in a Blender that can reach nothing else) before "
        "they run here. Scripts of inject_bpy_script are always rehearsed",
        more="`possible`: all of `execute_blender_code` but arithmetic, where this system can confine a rehearsal; "
        "elsewhere, a script that you are not asked about runs without one. `always`: all, and none runs without; "
        "`asking`: those that you are asked about; `never`: none. A script that seems to make too much geometry is "
        "rehearsed in any case.",
        variable="BLENDER_MCP_REHEARSE",
        label="Rehearse First",
        section=EXECUTION,
        choices=(
            (
                "possible",
                "Where Possible",
                "Each script is rehearsed first, if this system can confine a Blender: a script that fails never "
                "touches your scene",
            ),
            (
                "always",
                "Always",
                "Each script is rehearsed first, also one that you are not asked about, or refused if it cannot be",
            ),
            (
                "asking",
                "When You Are Asked",
                "A script that you are asked about is rehearsed first: you see what it would change",
            ),
            (
                "never",
                "Never",
                "No script is rehearsed: you decide by reading it. Scripts of inject_bpy_script are still rehearsed",
            ),
        ),
    )
    level: Level = declare(
        "blender",
        values.Choice(get_args(Level)),
        "What an assistant's script can reach",
        more="`arithmetic`, `math`, or `blender` for the scene.",
        variable="BLENDER_MCP_LEVEL",
        label="Scripts Use",
        section=EXECUTION,
        choices=(
            ("arithmetic", "Arithmetic", "Scripts calculate with numbers, and nothing else"),
            (
                "math",
                "Mathematics",
                "Scripts are Python without Blender: control flow, functions, mathematics",
            ),
            (
                "blender",
                "Blender",
                "Scripts change the scene through Blender's Python; they never reach files or the network",
            ),
        ),
    )
    dry_run: bool = declare(
        False,
        values.flag,
        "Check scripts and report what would happen, but run none: the scene stays as it is",
        more="A rehearsal runs none either.",
        variable="BLENDER_MCP_EXECUTE_DRY_RUN",
        label="Only check, change nothing",
        section=EXECUTION,
    )
    time_limit_s: float = declare(
        30.0,
        values.Seconds(0.1, 3600),
        "A script that runs longer is stopped and undone",
        more="In seconds; a rehearsal has as many, and 30 at least. "
        "While you have not set it, a script that was not rehearsed has 10.",
        variable="BLENDER_MCP_TIME_LIMIT",
        label="Time Limit",
        section=EXECUTION,
        widget=MappingProxyType({"soft_max": 60.0, "subtype": "TIME_ABSOLUTE", "unit": "TIME_ABSOLUTE"}),
    )
    memory_limit_mb: int = declare(
        1024,
        values.Whole(64, 1024 * 1024),
        "A script that takes more memory is stopped and undone",
        label="Memory Limit (MB)",
        section=EXECUTION,
    )
    output_limit_kb: int = declare(
        1024,
        values.Whole(1, 64 * 1024),
        "A script that prints or returns more is stopped and undone",
        more="In kilobytes.",
        label="Output Limit (KB)",
        section=EXECUTION,
    )
    source_limit_kb: int = declare(256, values.Whole(1, 16 * 1024), "How long a script may be, in kilobytes")
    rate_limit: int = declare(
        60,
        values.Whole(1, 1_000_000),
        "How many scripts may run in a minute, of all clients together",
        more="What is refused does not count.",
        variable="BLENDER_MCP_RATE_LIMIT",
        label="Scripts per Minute",
        section=EXECUTION,
        widget=MappingProxyType({"soft_max": 600}),
    )
    rate_window_s: float = declare(
        60.0, values.Seconds(1, 86400), "The period in which these scripts are counted, in seconds"
    )
    cut_references: bool = declare(
        True,
        values.flag,
        "References of a script to what it removed are made invalid in memory",
        more="`off`: a script that still holds one is stopped instead.",
        variable="BLENDER_MCP_CUT_REFERENCES",
    )
    rehearsal_blender: Path | None = declare(
        None,
        values.path,
        "Another Blender to rehearse scripts in. Empty: this one",
        label="Rehearse With",
        section=EXECUTION,
        widget=_PATH,
    )
    extension_tools: bool = declare(
        True,
        values.flag,
        "Let assistants use tools that other enabled extensions offer. They are not sandboxed; what changes "
        "something is asked about like a script",
        more="[How another extension offers tools](extensions.md).",
        variable="BLENDER_MCP_EXTENSION_TOOLS",
        label="Tools of Other Extensions",
        section=EXECUTION,
    )

    file_folders: tuple[Path, ...] | None = declare(
        None,
        values.folders,
        "Where assistants may export, save, open and render to, and nowhere else; several with “:” between them, on "
        "Windows “;”. Overwriting a file asks you. Empty: nowhere",
        variable="BLENDER_MCP_FOLDERS",
        label="Folders",
        section=FILES,
        widget=MappingProxyType({"subtype": "DIR_PATH"}),
    )
    render_targets: str = declare(
        "this computer = openjd",
        str,
        "Where assistants may have animations rendered, as NAME = ENGINE option=value, with “;” between several. "
        "Engines: openjd, slurm, flamenco, deadline; docs/settings.md in the repository explains their options",
        more="See [Render targets](#render-targets).",
        label="Render Targets",
        section=FILES,
    )

    asset_services: tuple[AssetService, ...] = declare(
        get_args(AssetService),
        values.Several(get_args(AssetService)),
        "Where assets may be fetched from, by you and by assistants",
        label="Asset Services",
        section=ASSETS,
        choices=(
            ("polyhaven", "Poly Haven", "HDRIs, textures and models, free for any use (CC0)"),
            ("sketchfab", "Sketchfab", "Models of many authors; each has its own licence"),
            ("hyper3d", "Hyper3D Rodin", "Models generated for credits of your account, there or at fal.ai"),
        ),
    )
    ask_above_mb: int = declare(
        500,
        values.Whole(1, 1_000_000),
        "A larger download begins only after you agreed",
        more="In megabytes.",
        label="Ask Above (MB)",
        section=ASSETS,
    )
    cache_quota_mb: int = declare(
        8000,
        values.Whole(100, 1_000_000),
        "Downloaded assets are kept up to this size; what was not used for the longest time is deleted first",
        more="In megabytes.",
        label="Cache (MB)",
        section=ASSETS,
    )
    sketchfab_token: str | None = declare(
        None,
        values.text,
        "To download from Sketchfab. It is under Settings › Password & API on sketchfab.com",
        variable="BLENDER_MCP_SKETCHFAB_TOKEN",
        label="Sketchfab API Token",
        widget=_PASSWORD,
        secret=True,
    )
    hyper3d_key: str | None = declare(
        None,
        values.text,
        "To generate models with Hyper3D Rodin on your own account",
        variable="BLENDER_MCP_HYPER3D_KEY",
        label="Hyper3D API Key",
        widget=_PASSWORD,
        secret=True,
    )
    fal_key: str | None = declare(
        None,
        values.text,
        "To generate models with Hyper3D Rodin through fal.ai on your own account",
        variable="BLENDER_MCP_FAL_KEY",
        label="fal.ai API Key",
        widget=_PASSWORD,
        secret=True,
    )

    journal_days: int = declare(
        30,
        values.Whole(30, 3650),  # the specification requires at least 30
        "How many days the record of what assistants did, and what belongs to their requests, is kept",
        more="30 at least.",
        variable="BLENDER_MCP_JOURNAL_DAYS",
        label="Keep Journal (Days)",
        section=RECORDS,
    )
    journal_code: bool = declare(
        True,
        values.flag,
        "Record the text of each script and the arguments of other changes, not only lengths, names and outcomes",
        label="Keep Scripts in Journal",
        section=RECORDS,
    )
    log_level: str = declare(
        "INFO",
        values.Choice(_LOG_LEVELS, fold=str.upper),
        "How much is logged",
        more=f"One of {', '.join(f'`{name}`' for name in _LOG_LEVELS)}.",
        variable="BLENDER_MCP_LOG_LEVEL",
        label="Log Level",
        section=RECORDS,
        choices=tuple((name, name.title(), "") for name in _LOG_LEVELS),
    )
    log_format: str = declare(
        "text",
        values.Choice(("text", "json")),
        "How a line of the log is written",
        more="`text` for people, `json` for programs.",
        variable="BLENDER_MCP_LOG_FORMAT",
        label="Log Format",
        section=RECORDS,
        choices=(("text", "Text", "For people"), ("json", "JSON Lines", "For programs")),
    )
    log_handler: str = declare(
        "console",
        values.Choice(("console", "file")),
        "Where the log goes",
        more="`console` or `file`.",
        variable="BLENDER_MCP_LOG_HANDLER",
        label="Log To",
        section=RECORDS,
        choices=(
            ("console", "Console", "Where Blender was started"),
            ("file", "File", "A file that is rotated"),
        ),
    )
    log_file: Path | None = declare(
        None,
        values.path,
        "The log's file. Empty: one in the extension's data folder",
        variable="BLENDER_MCP_LOG_FILE",
        label="Log File",
        section=RECORDS,
        widget=_PATH,
    )
    otlp_endpoint: str | None = declare(
        None,
        values.address,
        "Address of an OpenTelemetry collector, such as http://127.0.0.1:4318, that is told how long requests take. "
        "Counts from the next start of the server",
        more="Empty: no [traces](protocol.md#traces).",
        variable="BLENDER_MCP_OTLP_ENDPOINT",
        label="Send Traces To",
        section=RECORDS,
    )
    otlp_headers: str | None = declare(
        None,
        values.headers,
        "Headers for that collector, such as a key",
        more="As `name=value,name=value`.",
        variable="BLENDER_MCP_OTLP_HEADERS",
        secret=True,
    )

    #: Field name -> the source of its value; a field that is missing here has its default.
    origins: Mapping[str, Source] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def locked(self) -> frozenset[str]:
        """Names of the fields that a policy file sets: a user's own choice has no effect on them."""
        return frozenset(name for name, source in self.origins.items() if source == "policy file")

    def time_limit(self, *, rehearsed: bool) -> float:
        """Seconds that a script may run in the open scene.

        By default a rehearsed script may take longer: its duration is known, and the user has seen it.
        """
        chosen = rehearsed or "time_limit_s" in self.origins
        return self.time_limit_s if chosen else min(self.time_limit_s, _UNREHEARSED_S)

    def confirm_with(self, *, window: bool) -> Confirm:
        """Who confirms a script before it runs; depends on whether this Blender has a window."""
        return self.confirm or ("panel" if window else "client")
