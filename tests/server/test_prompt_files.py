# SPDX-License-Identifier: GPL-3.0-or-later
"""Prompts are files that a person can review and override."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path
from typing import Any

import pytest
from bl_ext.user_default.mcp_bridge.server.prompts import prompt_files
from bl_ext.user_default.mcp_bridge.server.prompts.prompt_files import SHIPPED, PromptFileError, load, parse
from bl_ext.user_default.mcp_bridge.server.protocol.features import Features, Resource
from bl_ext.user_default.mcp_bridge.server.protocol.messages import content

SOURCE = """---
name: turn
title: Turn
description: Turn it: once around
argument object (required, complete=object): What to turn
argument frames (default=120, or so): How long
argument how: In what way
---

Turn {{object}} in {{frames}} frames, {{how|quickly}}.
"""


def test_a_file_and_its_text() -> None:
    prompt = parse(SOURCE, "turn.md")
    assert (prompt.name, prompt.title, prompt.description) == ("turn", "Turn", "Turn it: once around")
    first, second, third = prompt.arguments
    assert (first.required, first.complete, first.description) == (True, "object", "What to turn")
    assert (second.required, second.default) == (False, "120, or so")
    assert (third.required, third.default, third.complete) == (False, "", "")
    assert prompt.fill({"object": "Cube"}) == "Turn Cube in 120, or so frames, quickly."
    assert prompt.fill({"object": "{{how}}", "how": "slowly"}) == "Turn {{how}} in 120, or so frames, slowly."


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ("no head", "x.md: must begin with a head"),
        ("---\ntitle: x\n---\ntext", "x.md: a name is missing"),
        ("---\nname: x\nnonsense\n---\ntext", "x.md, line 3: must be 'key: value'"),
        ("---\nname: x\ncolor: red\n---\ntext", "x.md, line 3: 'color' is not known"),
        ("---\nname: x\nargument a (maybe): b\n---\ntext", "x.md, line 3: in parentheses may be"),
        ("---\nname: x\n---\n{{a}} {{b}}", "x.md: a, b: no such argument"),
    ],
)
def test_what_is_wrong_is_named_with_its_place(source: str, says: str) -> None:
    with pytest.raises(PromptFileError) as caught:
        parse(source, "x.md")
    assert str(caught.value).startswith(says)


def test_the_users_files_override_and_add(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "own.md").write_text(SOURCE, encoding="utf-8")
    (tmp_path / "override.md").write_bytes(
        b"---\r\nname: turntable\r\ndescription: Mine\r\n---\r\nMy way\r\n"
    )
    (tmp_path / "broken.md").write_text("nonsense", encoding="utf-8")
    with caplog.at_level(logging.WARNING):
        found = load(SHIPPED, tmp_path, tmp_path / "not-there")
    assert found["turn"].title == "Turn"
    assert found["turntable"].text == "My way"
    assert set(found) > {"format-to-bpy", "contextual"}
    assert "broken.md: must begin with a head" in caplog.text


def test_every_shipped_prompt_is_sound() -> None:
    files = load(SHIPPED)
    assert {path.stem for path in SHIPPED.glob("*.md")} == set(files)
    for file in files.values():
        assert file.title
        assert file.description
        filled = file.fill({one.name: "GIVEN" for one in file.arguments})
        assert "{{" not in filled
        assert filled.isascii()
        for one in file.arguments:
            assert one.description
            assert one.complete in ("", "object", "material", "collection", "scene", "operator")


@pytest.mark.parametrize("name", ["format-to-bpy", "contextual"])
def test_the_strict_templates_are_strict(name: str) -> None:
    text = load(SHIPPED)[name].text
    for said in (
        "one Python file",
        "no prose" if name == "format-to-bpy" else "nothing else",
        "`bpy.*`",
        "`os`",
    ):
        assert said in text
    assert "`subprocess`" in text
    assert "`socket`" in text


def test_what_is_embedded_comes_with_the_prompt() -> None:
    async def read(_ctx: Any, uri: str) -> list[dict[str, Any]]:
        return [content.text_contents(uri, "{}", "application/json")]

    features = Features()
    features.add(Resource(uri="blender://scene", name="scene", read=read))
    file = load(SHIPPED)["contextual"]
    (prompt,) = prompt_files.prompts([file], {}, features)
    first, second = asyncio.run(prompt.get(None, {"request": "paint it red"}))  # type: ignore[arg-type]
    assert "paint it red" in first["content"]["text"]
    assert second["content"]["resource"]["uri"] == "blender://scene"


def test_arguments_are_listed_with_their_defaults_and_completers() -> None:
    async def names(*_: Any) -> list[str]:
        return []

    (prompt,) = prompt_files.prompts([parse(SOURCE, "turn.md")], {"object": names}, Features())
    assert prompt.arguments[0].complete is names
    assert prompt.arguments[1].description == "How long (default: 120, or so)"
