# SPDX-License-Identifier: GPL-3.0-or-later
"""Builds the site of the docs in dist/site: `make docs`. It fails at a link that leads nowhere.

The pages are those of the repository, at the same paths, with the files that they link to. This script makes one page
itself, the reference of the tools, from their schemas, so that it is never out of date. The first build installs
mkdocs under build/docs.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path
from typing import Any

import environment
from blenders import BUILD, DEFAULT, ROOT, read_pins

__all__ = ("LINK", "pages", "reference", "stage")

LINK = re.compile(r"(\]\()([^)#\s]+)((?:#[^)]*)?\))")
_HOME = BUILD / "docs"
_REQUIREMENTS = ROOT / "dev" / "requirements-docs.txt"
_KINDS = (
    ("readOnlyHint", True, "Changes nothing."),
    ("destructiveHint", True, "May change or remove what is there."),
    ("openWorldHint", True, "Reaches the internet."),
)


def pages() -> list[Path]:
    """Return the pages of the repository."""
    return sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")])


def stage(folder: Path, tools: Iterable[Any]) -> None:
    """Empty `folder` and fill it with the pages, the files that they link to, and the reference of `tools`.

    A link to a folder leads to its `__init__.py`. Raises FileNotFoundError for a link that leads nowhere.
    """
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(ROOT / "docs" / "pictures", folder / "docs" / "pictures")
    for page in pages():
        copy = folder / page.relative_to(ROOT)
        copy.write_text(
            LINK.sub(lambda link, page=page: _linked(folder, page, link), page.read_text("utf-8")), "utf-8"
        )
    (folder / "docs" / "tools.md").write_text(reference(tools), "utf-8")


def _linked(folder: Path, page: Path, link: re.Match[str]) -> str:
    """Copy the file that a page links to, unless it is a page, and return the link."""
    begin, target, end = link.groups()
    if "://" in target:
        return link[0]
    path = (page.parent / target).resolve()
    if path.is_dir():
        path, target = path / "__init__.py", f"{target.rstrip('/')}/__init__.py"
    if path.suffix != ".md":
        copy = folder / path.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, copy)
    return f"{begin}{target}{end}"


def reference(tools: Iterable[Any]) -> str:
    """Return the page of the tools, each with its parameters."""
    parts = [
        "# Tools",
        "What an assistant can call. This page is made from the schemas that the server itself uses.",
    ]
    for tool in sorted(tools, key=lambda tool: tool.name):
        kinds = [text for hint, value, text in _KINDS if tool.annotations.get(hint) is value]
        if not tool.listed:
            kinds.append("Found by `find_tools`, called by `use_tool`.")
        parts += [f"## {tool.name}", tool.description, " ".join(kinds), _parameters(tool.input_schema)]
    return "\n\n".join(filter(None, parts)) + "\n"


def _parameters(schema: dict[str, Any]) -> str:
    """Return a table of a tool's parameters; "" if it has none."""
    rows = []
    for name, about in schema.get("properties", {}).items():
        default = f"`{about['default']!r}`" if "default" in about else ""
        if name in schema.get("required", ()):
            default = "required"
        cells = (f"`{name}`", _type(about), default, about.get("description", ""))
        rows.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(["| parameter | type | default | |", "|---|---|---|---|", *rows]) if rows else ""


def _type(schema: dict[str, Any]) -> str:
    """Return a type in words, with its limits."""
    if "enum" in schema:
        return ", ".join(f"`{one}`" for one in schema["enum"])
    if "anyOf" in schema:
        return " or ".join(_type(one) for one in schema["anyOf"])
    if schema.get("type") == "array":
        return f"list of {_type(schema.get('items', {}))}"
    limits = (
        f"{schema.get('minimum', '')} to {schema.get('maximum', '')}".strip() if "minimum" in schema else ""
    )
    return f"{schema.get('type', 'anything')} {limits}".strip()


def main() -> int:
    packages = _HOME / f"python{DEFAULT.python}"
    pins = read_pins(_REQUIREMENTS)
    stamp = _HOME / "pins"
    if not stamp.exists() or stamp.read_text("utf-8").split() != pins:
        shutil.rmtree(packages, ignore_errors=True)
        environment.pip(pins, options=environment.into(packages, DEFAULT.python))
        stamp.write_text("\n".join(pins), "utf-8")
    os.environ["BLENDER_USER_RESOURCES"] = str(BUILD / "user")
    import_module("bpy")
    import_module("addon_utils").enable("bl_ext.user_default.mcp_bridge", default_set=True)
    stage(_HOME / "pages", import_module("bl_ext.user_default.mcp_bridge.server.tools").all_tools())
    command = [
        sys.executable,
        "-m",
        "mkdocs",
        "build",
        "--strict",
        "--clean",
        "--config-file",
        ROOT / "mkdocs.yml",
    ]
    return subprocess.run(
        command, env=os.environ | {"PYTHONPATH": str(packages), "NO_MKDOCS_2_WARNING": "1"}
    ).returncode


if __name__ == "__main__":
    try:
        sys.exit(main())
    except environment.SetupError as error:
        sys.exit(str(error))
