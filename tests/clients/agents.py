# SPDX-License-Identifier: GPL-3.0-or-later
"""Assistants with a program of their own, each led to a model on this computer, so that none needs an account."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

__all__ = ("AGENTS", "Agent")

PROMPT = "Do what the scenario says."


@dataclass(frozen=True, slots=True)
class Agent:
    """`id` as in dev/real_clients.py and in server/clients/config/table.py. `model` makes the home of its user lead to
    the model at a URL, and gives the arguments of the program and variables for it. `quick`: part of `--check`, for
    few megabytes or habits that no other client has.
    """

    id: str
    label: str
    model: Callable[[Path, str], tuple[Sequence[str], Mapping[str, str]]]
    quick: bool = False
    transports: tuple[str, ...] = ("stdio", "http")


def _claude_code(_home: Path, url: str) -> tuple[Sequence[str], Mapping[str, str]]:
    env = {
        "ANTHROPIC_BASE_URL": url,
        "ANTHROPIC_API_KEY": "none",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "ENABLE_TOOL_SEARCH": "false",
    }
    return ["-p", PROMPT, "--allowedTools", "mcp__blender"], env


def _codex(home: Path, url: str) -> tuple[Sequence[str], Mapping[str, str]]:
    file = home / ".codex" / "config.toml"
    before = file.read_text(encoding="utf-8")
    first = 'model = "m"\nmodel_provider = "local"\n'
    provider = (
        f'\n[model_providers.local]\nname = "local"\nbase_url = "{url}/v1"\nwire_api = "responses"\n'
        'env_key = "LOCAL_KEY"\n'
    )
    file.write_text(first + before + provider, encoding="utf-8")
    arguments = ["exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", PROMPT]
    return arguments, {"LOCAL_KEY": "none"}


def _gemini(home: Path, url: str) -> tuple[Sequence[str], Mapping[str, str]]:
    _add(
        home / ".gemini" / "settings.json",
        security={"auth": {"selectedType": "gemini-api-key"}},
        telemetry={"enabled": False},
        privacy={"usageStatisticsEnabled": False},
        general={"disableAutoUpdate": True, "disableUpdateNag": True},
    )
    env = {
        "GEMINI_API_KEY": "none",
        "GOOGLE_GEMINI_BASE_URL": url,
        "GEMINI_CLI_TRUST_WORKSPACE": "true",
    }
    return ["-p", PROMPT, "--approval-mode", "yolo", "-m", "gemini-2.5-flash"], env


def _qwen(home: Path, url: str) -> tuple[Sequence[str], Mapping[str, str]]:
    _add(
        home / ".qwen" / "settings.json",
        telemetry={"enabled": False},
        privacy={"usageStatisticsEnabled": False},
        general={"disableAutoUpdate": True},
    )
    # Qwen Code shows pictures only to a model of whose name it knows that it sees them.
    env = {"OPENAI_API_KEY": "none", "OPENAI_BASE_URL": f"{url}/v1", "OPENAI_MODEL": "qwen3-vl-plus"}
    return ["-p", PROMPT, "--approval-mode", "yolo", "--auth-type", "openai"], env


def _opencode(home: Path, url: str) -> tuple[Sequence[str], Mapping[str, str]]:
    model = {"name": "m", "tool_call": True, "attachment": True, "limit": {"context": 200000, "output": 8000}}
    model |= {"modalities": {"input": ["text", "image"], "output": ["text"]}}
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "name": "local",
        "options": {"baseURL": f"{url}/v1", "apiKey": "none"},
        "models": {"m": model},
    }
    _add(
        home / ".config" / "opencode" / "opencode.json",
        provider={"local": provider},
        model="local/m",
        small_model="local/m",
        autoupdate=False,
        share="disabled",
    )
    return ["run", "-m", "local/m", PROMPT], {"OPENCODE_DISABLE_AUTOUPDATE": "1"}


def _continue(home: Path, url: str) -> tuple[Sequence[str], Mapping[str, str]]:
    file = home / ".continue" / "config.yaml"
    model = (
        f"models:\n  - name: local\n    provider: openai\n    model: gpt-4o\n    apiBase: {url}/v1\n"
        "    apiKey: none\n    roles: [chat]\n    capabilities: [tool_use, image_input]\n"
    )
    file.write_text(file.read_text(encoding="utf-8") + model, encoding="utf-8")
    env = {"CONTINUE_TELEMETRY_ENABLED": "0", "CONTINUE_METRICS_ENABLED": "0"}
    return ["--config", str(file), "--auto", "-p", PROMPT], env


def _cline(home: Path, url: str) -> tuple[Sequence[str], Mapping[str, str]]:
    folder = home / ".cline" / "data" / "settings"
    folder.mkdir(parents=True, exist_ok=True)
    name = "openai-compatible"
    settings = {"provider": name, "model": "m", "apiKey": "none", "baseUrl": f"{url}/v1"}
    entry = {"settings": settings, "updatedAt": "2026-01-01T00:00:00.000Z", "tokenSource": "manual"}
    providers = {"version": 1, "lastUsedProvider": name, "modes": {}, "providers": {name: entry}}
    (folder / "providers.json").write_text(json.dumps(providers), encoding="utf-8")
    return ["-P", name, "-m", "m", PROMPT], {"CLINE_TELEMETRY_DISABLED": "1"}


def _add(file: Path, **members: object) -> None:
    """Add to a JSON file what leads to the model."""
    file.write_text(json.dumps(json.loads(file.read_text(encoding="utf-8")) | members), encoding="utf-8")


AGENTS = (
    Agent("claude_code", "Claude Code", _claude_code),
    Agent("codex", "Codex", _codex, quick=True),
    Agent("gemini", "Gemini CLI", _gemini, quick=True),
    Agent("qwen", "Qwen Code", _qwen),
    Agent("opencode", "OpenCode", _opencode),
    Agent("continue", "Continue CLI", _continue, quick=True),
    Agent("cline_cli", "Cline CLI", _cline),
)
