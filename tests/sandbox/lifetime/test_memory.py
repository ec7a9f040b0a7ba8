# SPDX-License-Identifier: GPL-3.0-or-later
"""References are written where all is as it should be, and nowhere else."""

from __future__ import annotations

import ast
import ctypes
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import bmesh
import bpy
import pytest
from bl_ext.user_default.mcp_bridge import sandbox
from bl_ext.user_default.mcp_bridge.base import settings
from bl_ext.user_default.mcp_bridge.base.errors import HandlerError, PolicyError
from bl_ext.user_default.mcp_bridge.sandbox.lifetime import layout, memory

from support.running import fork
from support.sandboxing.scripts import result

pytestmark = pytest.mark.usefixtures("fresh_file")


def _object() -> Any:
    return bpy.data.objects["Cube"]


def _group() -> Any:
    _object()["g"] = {"a": 1}
    return _object()["g"]


def _array() -> Any:
    _object()["l"] = [1, 2]
    return _object()["l"]


#: How to get a reference of each kind, and a use of it.
_KINDS: dict[str, tuple[Callable[[], Any], Callable[[Any], object]]] = {
    "struct": (lambda: _object().modifiers.new("a", "BEVEL"), lambda x: x.width),
    "collection": (lambda: _object().modifiers, len),
    "array": (lambda: _object().lock_location, list),
    "function": (lambda: _object().select_get, lambda x: x()),
    "group": (_group, lambda x: x["a"]),
    "array-of-properties": (_array, lambda x: x[0]),
}


@pytest.fixture
def _allowed() -> Iterator[None]:
    memory.allow(True)
    yield
    memory.allow(False)


def _bytes(reference: Any) -> bytes:
    return ctypes.string_at(id(reference), type(reference).__basicsize__)


def test_the_layout_of_all_kinds_of_references_is_found() -> None:
    for found in (layout.first_word, layout.part_words, layout.mesh_word, layout.value_words):
        found.cache_clear()
    assert layout.are_known()
    kinds = {kind.__name__ for kind in layout.value_words()}
    assert kinds == {"Vector", "BMDeformVert", "BMVertSkin", "BMLoopUV", "PyCapsule"}


@pytest.mark.usefixtures("_allowed")
@pytest.mark.parametrize("kind", _KINDS)
def test_what_is_cut_off_says_so(kind: str) -> None:
    make, use = _KINDS[kind]
    reference = make()
    use(reference)
    memory.cut_off(reference)
    assert memory.is_cut_off(reference)
    with pytest.raises(ReferenceError, match="has been removed"):
        use(reference)
    assert "invalid" in repr(reference)
    del reference  # it is freed as it should be


@pytest.mark.usefixtures("_allowed")
def test_a_vector_says_so_when_what_it_is_of_was_cut_off() -> None:
    location = _object().location
    memory.cut_off(location.owner)
    with pytest.raises(ReferenceError, match="has been removed"):
        location.x = 1


#: What a check asks for, by its name in `layout`.
_CHECKS: dict[str, Any] = {"first_word": None, "part_words": None, "mesh_word": None, "value_words": {}}


def _coordinate() -> Any:
    mesh = bmesh.new()
    _KEPT.append(mesh)
    return mesh.verts.new((1, 2, 3)).co


def _sequence() -> Any:
    mesh = bmesh.new()
    _KEPT.append(mesh)
    return mesh.verts


_KEPT: list[Any] = []
#: Everything that writes: what it writes to, and how.
_WRITES: dict[str, tuple[Callable[[], Any], Callable[[Any], object]]] = {
    **{kind: (make, memory.cut_off) for kind, (make, _use) in _KINDS.items()},
    "moved": (lambda: _object().data.vertices[0], lambda x: memory.move(x, x.as_pointer() + 8)),
    "coordinate": (_coordinate, memory.cut_loose),
    "sequence": (_sequence, lambda x: memory.forget_mesh(layout.address_of_mesh(x), [x])),
}


@pytest.mark.parametrize("write", _WRITES)
def test_nothing_is_written_where_it_is_not_allowed(write: str) -> None:
    make, change = _WRITES[write]
    reference = make()
    before = _bytes(reference)
    with pytest.raises(memory.CannotCut):
        change(reference)
    assert _bytes(reference) == before


@pytest.mark.usefixtures("_allowed")
@pytest.mark.parametrize("write", _WRITES)
def test_a_failed_check_leaves_memory_untouched(write: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever a reference's memory is not known to be: nothing is written into it."""
    make, change = _WRITES[write]
    reference = make()
    before = _bytes(reference)
    for check, unknown in _CHECKS.items():
        monkeypatch.setattr(layout, check, lambda unknown=unknown: unknown)
    with pytest.raises(memory.CannotCut):
        change(reference)
    assert _bytes(reference) == before


@pytest.mark.usefixtures("_allowed")
@pytest.mark.parametrize("kind", ["struct", "collection", "array", "function"])
@pytest.mark.parametrize(
    "change", [lambda words: [words[0], 0, *words[2:]], lambda words: [*words[:3], *[0] * 5]]
)
def test_a_reference_that_is_laid_out_otherwise_is_left_alone(
    kind: str, change: Callable[[list[int]], list[int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was found in others is looked at again in each reference."""
    reference = _KINDS[kind][0]()
    words = layout.words
    for name in ("words", "words_now"):
        monkeypatch.setattr(layout, name, lambda each: change(list(words(each))))
    before = _bytes(reference)
    with pytest.raises(memory.CannotCut):
        memory.cut_off(reference)
    assert _bytes(reference) == before


@pytest.mark.usefixtures("_allowed")
@pytest.mark.parametrize("value", [1, "a", [], object(), bpy.types.Object, len])
def test_what_is_no_reference_is_left_alone(value: Any) -> None:
    before = _bytes(value)
    with pytest.raises(memory.CannotCut):
        memory.cut_off(value)
    assert _bytes(value)[8:] == before[8:]  # the first word counts references


def test_outside_a_run_nothing_may_be_written() -> None:
    result("x = bpy.context.object.modifiers.new('a', 'BEVEL')\nbpy.context.object.modifiers.clear()")
    assert not memory._allowed


_HOLDING = "x = bpy.context.object.modifiers.new('a', 'BEVEL')\nbpy.context.object.modifiers.clear()\n"
_CAUGHT = f"try:\n    {_HOLDING.replace(chr(10), chr(10) + '    ').rstrip()}\nfinally:\n    x.width = 2\n"


@pytest.mark.parametrize("code", [_HOLDING + "x.width", _HOLDING, _CAUGHT])
def test_a_switch_turns_writing_off_and_ends_the_run_instead(
    code: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BLENDER_MCP_CUT_REFERENCES", "off")
    assert not settings.current().cut_references

    def run() -> str:
        fork.overwrite_freed()
        monkeypatch.setattr(layout, "words", _read_only(layout.words))
        try:
            result(code)
        except PolicyError as error:
            return str(error)
        return "it ran"

    assert "BLENDER_MCP_CUT_REFERENCES" in fork.run(run)
    assert result("bpy.context.object.modifiers.clear()\nresult = 1") == 1  # who holds nothing is not stopped


def _read_only(words: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda reference: tuple(words(reference))


def test_without_a_known_layout_no_script_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layout, "first_word", lambda: None)
    layout.are_known.cache_clear()
    try:
        with pytest.raises(PolicyError, match="lays out its references in an unknown way"):
            result("result = 1")
    finally:
        layout.are_known.cache_clear()


@pytest.mark.usefixtures("_allowed")
def test_what_is_weakly_referred_to_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its new type knows of no such references: Blender's own has none that could be made from Python."""
    monkeypatch.setattr(weakref, "getweakrefcount", lambda _each: 1)
    reference = _object().modifiers
    before = _bytes(reference)
    with pytest.raises(memory.CannotCut, match="weakly"):
        memory.cut_off(reference)
    assert _bytes(reference) == before


def test_only_two_modules_touch_memory() -> None:
    """No other module of the guards imports ctypes, and `layout` writes nothing."""
    root = Path(sandbox.__path__[0])
    importing = {
        path.name
        for folder in ("blender", "growth", "lifetime")
        for path in (root / folder).rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Import) and any(name.name == "ctypes" for name in node.names)
    }
    assert importing == {"layout.py", "memory.py"}
    layout_of = ast.parse(Path(layout.__file__).read_text(encoding="utf-8"))
    stored = [
        node
        for node in ast.walk(layout_of)
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store)
    ]
    assert {ast.unparse(node.value) for node in stored} == {
        "manager"
    }  # a custom property, made by way of Blender


def test_a_reference_that_was_cut_off_is_freed_without_harm() -> None:
    """Thousands of them, in a Blender whose freed memory is overwritten."""

    def run() -> int:
        fork.overwrite_freed()
        caught = 0
        for _ in range(9):
            code = (
                "o = bpy.data.objects.new('o', bpy.data.meshes.new('m'))\n"
                "held = [[o.modifiers, o.lock_location, o.select_get, o.constraints] for _ in range(200)]\n"
                "bpy.data.objects.remove(o)\nheld[7][0].keys()\n"
            )
            try:
                result(code)
            except HandlerError:
                caught += 1
        return caught

    assert fork.run(run) == 9
