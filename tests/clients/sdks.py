# SPDX-License-Identifier: GPL-3.0-or-later
"""SDKs and frameworks: each is used by a small program in programs/, which is told what to do by the variable TOLD."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path

import clients
import real_clients

__all__ = ("SDKS", "Sdk")

_PROGRAMS = Path(__file__).parent / "programs"
_PYTHON_1 = clients.CLIENTS / f"python{sys.version_info.major}.{sys.version_info.minor}"

_INSPECTOR = (
    clients.CLIENTS
    / "node_modules"
    / "@modelcontextprotocol"
    / "inspector"
    / "clients"
    / "launcher"
    / "build"
    / "index.js"
)


@dataclass(frozen=True, slots=True)
class Sdk:
    """`program` prints `RESULT` and a result in JSON for each call, or lets the scripted model decide, as `scripted`
    says. `pin` is what PyPI has to bring; empty for what `make clients` installs or the environment has.
    """

    id: str
    label: str
    program: str
    version: str
    transports: tuple[str, ...] = ("stdio", "http")
    pin: str = ""
    scripted: bool = False
    env: Mapping[str, str] = field(default_factory=dict)

    @property
    def quick(self) -> bool:
        """Whether it is part of `--check`: it is there after `make clients`."""
        return not self.pin

    def command(self) -> tuple[list[str | Path], Mapping[str, str]]:
        """The command line, and variables for it. Raises real_clients.NotInstalled."""
        program = _PROGRAMS / self.program
        if program.suffix == ".mjs":  # its modules are looked up from the working folder
            code = program.read_text(encoding="utf-8")
            return [clients.NODE, "--input-type=module", "--eval", code], {}
        if self.pin:
            return [real_clients.install_python(self.pin), program], {"PYTHONPATH": ""}
        return [sys.executable, program], self.env


def _locked(package: str) -> str:
    """The version of an npm package that `make clients` installs."""
    lock = (Path(real_clients.__file__).parent / "package.json").read_text(encoding="utf-8")
    found = re.search(rf'"{re.escape(package)}": "([^"]+)"', lock)
    assert found
    return found[1]


def _pinned(pin: str) -> str:
    return pin.rpartition("==")[2]


_PYDANTIC, _OPENAI = "pydantic-ai-slim[mcp,openai]==2.68.0", "openai-agents==0.24.0"
_LANGCHAIN, _FASTMCP = "langchain-mcp-adapters==0.3.2", "fastmcp==4.1.2"
_EVERY = ("stdio", "http", "websocket")

SDKS = (
    Sdk(
        "python_1",
        "Python SDK 1",
        "python_sdk_1.py",
        real_clients.python_1_version(),
        _EVERY,
        env={"PYTHONPATH": str(_PYTHON_1)},
    ),
    Sdk("python_2", "Python SDK 2", "python_sdk_2.py", version("mcp")),
    Sdk("typescript", "TypeScript SDK", "typescript_sdk.mjs", _locked("@modelcontextprotocol/sdk"), _EVERY),
    Sdk(
        "inspector",
        "Inspector, command line",
        "inspector_cli.py",
        _locked("@modelcontextprotocol/inspector"),
        env={"NODE": str(clients.NODE), "INSPECTOR": str(_INSPECTOR)},
    ),
    Sdk("fastmcp", "FastMCP", "fastmcp_client.py", _pinned(_FASTMCP), pin=_FASTMCP),
    Sdk("langchain", "LangChain adapters", "langchain_adapters.py", _pinned(_LANGCHAIN), pin=_LANGCHAIN),
    Sdk(
        "pydantic_ai", "Pydantic AI", "pydantic_ai_agent.py", _pinned(_PYDANTIC), pin=_PYDANTIC, scripted=True
    ),
    Sdk("openai_agents", "OpenAI Agents", "openai_agent.py", _pinned(_OPENAI), pin=_OPENAI, scripted=True),
)
