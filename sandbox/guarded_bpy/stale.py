# SPDX-License-Identifier: GPL-3.0-or-later
"""References to what Blender has freed: made invalid, as Blender itself does for removed data-blocks.

A reference to a vertex, bone, socket or modifier is a bare pointer. When the array behind it moves or the item is
removed, the next use reads or writes freed memory and takes Blender down. Blender knows how to say "has been removed"
— its check is the reference's type being null — but only does so for whole data-blocks. So after every step that may
free such items, the references that the script still holds are found (by the garbage collector, which has only the
script's own objects to show), compared with what the data-block has now, and those that point nowhere are given a
null type; whose parts go with a data-block is noted before it is removed. The layout of a reference is not guessed: it
is found, and checked three ways, in a reference whose pointers are known; where it is not found, references are left
as they are.
"""

from __future__ import annotations

import gc
import inspect
import sys
from collections.abc import Collection
from functools import cache
from typing import Any

import bmesh
import bpy
import mathutils

from .. import hooks
from ..kinds import Kinds, is_static
from . import bmesh_layers, freeing, parts, sharing
from .alive import Now, RootsByPointer, root_of
from .bmesh_removals import ALONE, ELEMENTS, OF_MESH, Watched, address_of, leave
from .properties import NOWHERE, PARTS, Given, words

__all__ = ("FRAGILE", "Stale")

_VECTORS = (mathutils.Vector, mathutils.Euler, mathutils.Quaternion, mathutils.Matrix, mathutils.Color)

_LAYER_DATA = frozenset({"BMLoopUV", "BMDeformVert", "BMVertSkin"})
_STRUCT = bpy.types.bpy_struct
_OF_ADDONS = bpy.types.PropertyGroup
_MESH = bpy.types.Mesh
_REFERENCES = (_STRUCT, bpy.types.bpy_prop, bpy.types.bpy_func)
#: Elements of arrays that grow while scripts hold their points: read through the host, so that a sweep can wait.
FRAGILE = frozenset(
    "BezierSplinePoint SplinePoint Keyframe GPencilStrokePoint CurveMapPoint MaskSplinePoint".split()
)

_NONE: frozenset[str] = frozenset()


def _is_in(modes: frozenset[str], overridden: bool) -> bool:
    """Whether the mode is one of these, and the object is in its own, whatever a `temp_override` says of it."""
    if not modes or bpy.context.mode not in modes:
        return False
    active = bpy.context.view_layer.objects.active if overridden else None
    return active is None or active.mode == "OBJECT"


def is_blank(owner: Any) -> bool:
    """Whether this is a mesh of which there is nothing yet that a reference could point to."""
    return type(owner) is _MESH and not any(
        len(getattr(owner, name, ()))
        for name in ("vertices", "edges", "polygons", "loops", "attributes", "skin_vertices")
    )


class _Roots(dict[type, str | None]):
    """Root by type of Blender's."""

    def __missing__(self, kind: type) -> str | None:
        root = self[kind] = root_of(kind)
        return root


_ROOTS = _Roots()


def _shared_root(kind: type) -> str:
    root = _ROOTS[kind] if issubclass(kind, _STRUCT) else None
    return root if root in sharing.ROOTS else ""


def _is_rooted(kind: type) -> bool:
    """Whether values of this type are, or know, references to what may be freed."""
    if issubclass(kind, _STRUCT):
        return _ROOTS[kind] is not None or issubclass(kind, _OF_ADDONS)
    return kind in _VECTORS or issubclass(kind, _REFERENCES) or PARTS[kind]


_ROOTED = Kinds(_is_rooted, _STRUCT)
#: The root of items of arrays that may be shared with copies, or "".
_ARRAYS = Kinds(_shared_root, _STRUCT)
_BLENDERS = Kinds(lambda kind: kind in _VECTORS or issubclass(kind, _REFERENCES), _STRUCT)
_LOOSE = Kinds(lambda kind: kind in _VECTORS or kind in OF_MESH or _is_layer_data(kind), _STRUCT)
_PARTS_OF_MESH = Kinds(lambda kind: kind in OF_MESH, _STRUCT)
_LENT = Kinds(lambda kind: kind in (mathutils.Vector, bmesh.types.BMesh) or _is_layer_data(kind), _STRUCT)


class Stale:
    """Finds and invalidates the references of one run. `open` before the script runs, `close` after it."""

    def __init__(self) -> None:
        self._slot = _type_slot()
        #: Collections become an empty one, functions one that does nothing: Blender reads these without a check.
        self._donors: dict[type, Any] = {}
        self._member: dict[type, int] = {}
        self._find_donors()
        parts.prepare()
        self._variables: dict[str, Any] = {}
        self._given = 0
        self._roots = RootsByPointer()
        self._pending = False
        self._aliased = False
        self._keyed = False
        self._harmless = _NONE
        """In which modes the running operator has to end to have freed and moved nothing."""
        self._owned: list[tuple[Any, Any]] = []
        self._parts: list[Any] = []
        self.properties = Given()
        self.follows = False
        """Whether the script has come to what few calls free: what follows the collections, or a text's lines."""
        self._spared: list[Any] = []
        self._made: list[Any] = []
        """The BMeshes that the script made and did not free."""
        self.evaluates = False
        """Whether the script has come to a depsgraph, and so to evaluated copies."""
        self.evaluations = 0
        self.lends = False
        """Whether the script has come to layers of a BMesh whose values are references."""
        self.watched = Watched()
        self.edits = False
        """Whether it has come to the BMesh of edit mode."""
        self._edited: list[tuple[Any, int]] = []
        """Each that it was given, and where it lies: Blender frees it when edit mode is left."""
        self.shares = False
        """Whether the script has come to parts of meshes, or to other arrays that are shared with copies."""
        self._shared: list[sharing.Noted] = []
        self._lent: bmesh_layers.Lent | None = None
        self._memory: list[Any] = []
        self.lending: dict[int, set[int]] = {}
        """By the id of an instance whose turn it is, where the objects are that were lent in its loop."""

    def _find_donors(self) -> None:
        manager = bpy.context.window_manager
        nothing = bpy.types.ID.bl_rna.functions["user_clear"].parameters
        for donor, member in (
            (nothing, bpy.types.Function.bl_rna.properties["parameters"]),
            (manager.progress_end, manager.bl_rna.functions["progress_end"]),
        ):
            at = [i for i, word in enumerate(words(donor)) if word == member.as_pointer()]
            if len(at) == 1:
                self._donors[type(donor)] = donor
                self._member[type(donor)] = at[0]

    def open(self, variables: dict[str, Any]) -> None:
        """From now on the garbage collector shows only what the script makes; `variables` are its globals."""
        self._variables = variables
        # What is there already stays first: these names no script can bind or delete.
        self._given = len(variables)
        gc.freeze()

    def close(self) -> None:
        """Give the collector everything back."""
        gc.unfreeze()
        self._spared.clear()
        self._made.clear()

    def read_fragile(self, *, aliases: bool) -> None:
        """An element of a growing array is about to be used; `aliases`: the script gets a view of its memory."""
        if self._pending:
            self.sweep()
        self._aliased = self._aliased or aliases

    def after_growth(self) -> None:
        """Items that are read through `read_fragile` have moved, if the script was given views of their memory."""
        if self._aliased:
            self.sweep()
        else:
            self._pending = True

    def read_keys(self) -> None:
        """The script is about to be given keyframes."""
        self._keyed = True

    def after_key(self) -> None:
        """A keyframe was inserted, or a curve updated, which moves those of the curve."""
        if self._keyed:
            self.after_growth()

    def before_removal(self, *, evaluates: bool = False) -> None:
        """Data-blocks may be about to go: note whose parts the script holds, which nobody can tell afterwards.

        So may the parts of evaluated copies: these stay the same data-blocks when the scene is evaluated anew.
        """
        self.evaluations += evaluates
        self.before_move(self.edits)
        if self._slot is None:
            return
        held = self._held(_ROOTED)
        self._parts = [value for value in held if PARTS[type(value)]]
        for value in held:
            reference = value.owner if type(value) in _VECTORS else value
            owner = self._owner(reference)
            if owner is not None:
                self._owned.append((reference, owner))

    def after_removal(self) -> None:
        """Invalidate the parts of those that went; Blender itself does so for the data-blocks alone."""
        self._invalidate_removed()
        self.properties.void_gone(self._parts)
        self._parts.clear()

    def watch(self) -> None:
        """The script has come to layers of a BMesh whose values are noted when they are read."""
        if not self.watched.active:
            self.watched.active = True
            self._variables[hooks.ITEMS].difference_update(ELEMENTS)

    def edit(self, mesh: Any) -> None:
        """The script is given the BMesh of edit mode."""
        self.edits = True
        if all(mesh is not known for known, _address in self._edited):
            self._edited.append((mesh, address_of(mesh)))

    def before_move(self, held: bool) -> None:
        """Layers or coordinates of a BMesh are about to move or go: note what the script holds of them, if it may."""
        if held:
            lent = self._held(_LENT)
            meshes = [value for value in lent if type(value) is bmesh.types.BMesh]
            loose = [value for value in lent if type(value) is not bmesh.types.BMesh and _is_loose(value)]
            self._lent = bmesh_layers.note(loose, meshes)

    def after_move(self) -> None:
        """They did."""
        if self._lent is not None:
            self._memory += self._lent.renew()
            self._lent = None

    def _invalidate_removed(self) -> None:
        if self._lent is not None:
            self.after_move()
        if self._edited:
            for mesh, address in [each for each in self._edited if not each[0].is_valid]:
                self._edited.remove((mesh, address))
                leave(address, self._held(_PARTS_OF_MESH))
        if not self._owned:
            return
        now = Now()
        while self._owned:
            reference, owner = self._owned.pop()
            if _is_removed(owner) or (
                self.evaluates
                and owner.is_evaluated
                and (self._is_of_addon(reference) or not self._is_alive(reference, now))
            ):
                self._invalidate(reference)

    def share(self, kind: type, name: str) -> None:
        """The script reads arrays that copies share; from now on it does so natively: this is all to be known."""
        self.shares = True
        natively = self._variables.get(hooks.reads(name))
        if natively is not None:
            natively.add(kind)

    def before_sharing(self) -> None:
        """Arrays are about to be shared with copies, which their items leave when they are looked at again."""
        if self.shares and self._slot is not None:
            references = {
                id(v): v for v in (v.owner if type(v) in _VECTORS else v for v in self._held(_BLENDERS))
            }
            found = [(each, _ARRAYS[type(each)] or self._array_of(each)) for each in references.values()]
            self._shared = sharing.note([each for each in found if each[1]], self._slot + 1)

    def after_sharing(self) -> None:
        """They may be: let the references follow."""
        while self._shared:
            assert self._slot is not None
            self._shared.pop().follow(self._slot + 1)

    def _array_of(self, reference: Any) -> str:
        """The root of a collection or array of such an item, or ""."""
        assert self._slot is not None
        kind = type(reference)
        if issubclass(kind, _STRUCT) or not issubclass(kind, _REFERENCES):
            return ""
        struct = words(reference)[self._slot]
        root = self._roots[struct] if struct else None
        return root if root in sharing.ROOTS else ""

    def let_go(self, lent: set[int]) -> None:
        """Invalidate the objects at these addresses, and all that is known to be theirs."""
        if self._slot is None:
            return
        for value in self._held(_BLENDERS):
            reference = value.owner if type(value) in _VECTORS else value
            if isinstance(reference, _REFERENCES):
                block, _struct, pointer = words(reference)[self._slot - 1 : self._slot + 2]
                if block in lent or pointer in lent:
                    self._invalidate(reference)

    def before_operator(self, idname: str, *, overridden: bool) -> None:
        """An operator is about to run, within a `temp_override` or not."""
        if self.shares:
            self.before_sharing()
        began, ends = freeing.harmless_in(idname, meshes=self.shares or self.edits)
        self._harmless = ends if _is_in(began, overridden) else _NONE
        if self.evaluates or not freeing.spares_blocks(idname):
            self.before_removal(evaluates=True)
        elif self.edits and not idname.startswith("mesh.select_"):
            self.before_move(held=True)

    def after_operator(self, *, overridden: bool) -> None:
        """It ran."""
        if self._shared:
            self.after_sharing()
        self._parts.clear()
        self._invalidate_removed()
        if not _is_in(self._harmless, overridden):
            self.sweep()
        else:
            self.after_key()  # objects that are moved get keyframes where Blender inserts these by itself

    def sweep(self, there: tuple[Any, ...] = (), roots: frozenset[str] | None = None) -> None:
        """Invalidate every reference (to items under `roots`) that points to nothing any more.

        What is `there` for certain is not looked for, as that would often be the only search there is: what Blender
        has made just now, and what it made it in.
        """
        self._pending = False
        if self._slot is None:
            return
        parts, now, known = [], Now(), frozenset(map(id, there))
        for value in self._held(_ROOTED):
            kind = type(value)
            if PARTS[kind]:
                parts.append(value)
                continue
            reference = value.owner if kind in _VECTORS else value
            if id(reference) not in known and not self._is_alive(reference, now, roots):
                self._invalidate(reference)
        if parts or self.properties.given:
            self.properties.void_gone(parts)

    def keep(self, mesh: Any) -> None:
        """A BMesh was made: Blender would free it with the last reference to it, whatever else the script holds of it.

        Those that the script let go of are freed when it makes another.
        """
        made = self._made
        for at in reversed([at for at in range(len(made)) if sys.getrefcount(made[at]) == ALONE]):
            self.free(made[at])
        made.append(mesh)

    def free(self, mesh: Any) -> None:
        """`mesh.free()`, where the script holds nothing of its layers: such a pointer nothing invalidates.

        Else the mesh lives as long as the run.
        """
        self._made[:] = [each for each in self._made if each is not mesh]
        held = self._held(_LOOSE)
        if in_generator() or any(_is_loose(each) for each in held if type(each) not in OF_MESH):
            self._spared.append(mesh)
        else:
            address = address_of(mesh)
            mesh.free()
            leave(address, [each for each in held if type(each) in OF_MESH])

    def after_property(self) -> None:
        """A custom property with parts was replaced or removed."""
        self.properties.void_gone(self._held(PARTS))

    def after_inputs(self) -> None:
        """Custom properties may have been replaced that are seldom read."""
        if self.properties.given:
            self.after_property()

    def _held(self, wanted: Kinds[bool]) -> Collection[Any]:
        """All that the script holds of some kinds: what the collector tracks, what that refers to, and its variables.

        The collector does not track collections and functions of Blender's, so these are found in what holds them.
        """
        variables = self._variables
        found = gc.get_objects()
        found += gc.get_referents(*found)
        found += [*variables.values()][self._given :]
        frame = sys._getframe(2)  # this one and its caller are ours
        while frame is not None:
            if frame.f_globals is variables:
                if frame.f_locals is variables:
                    break  # the module's own, below which nothing is the script's
                found += frame.f_locals.values()
            frame = frame.f_back  # type: ignore[assignment]
        held: dict[int, Any] = {}
        while found:
            # tuples and dicts that the collector lets go of, as it does of their items
            loose: dict[int, Any] = {}
            for value in found:
                kind = type(value)
                if wanted[kind]:
                    held[id(value)] = value
                elif kind in _UNTRACKED and value and not gc.is_tracked(value):
                    loose[id(value)] = value
            found = gc.get_referents(*loose.values()) if loose else []
        return held.values()

    def _is_alive(self, reference: Any, now: Now, roots: frozenset[str] | None = None) -> bool:
        """Whether there is something where a reference points. That is never touched: it may be freed memory."""
        assert self._slot is not None
        kind = type(reference)
        try:
            if issubclass(kind, _STRUCT):
                root = _ROOTS[kind]
                if root is None or (roots is not None and root not in roots):
                    return True
                owner = reference.id_data
                return owner is None or now.has(owner, root, reference.as_pointer(), kind)
            if not issubclass(kind, _REFERENCES):
                return True
            block, struct, pointer = words(reference)[self._slot - 1 : self._slot + 2]
            # a null type is what an earlier sweep gave it
            root = None if block in (0, pointer) or struct == 0 else self._roots[struct]
            if root is None or (roots is not None and root not in roots):
                return True
            # A function knows its data-block and does not show it.
            owner = now.block(block) if kind is bpy.types.bpy_func else reference.id_data
            return owner is None or now.has(owner, root, pointer)
        except ReferenceError:
            return True  # Blender knows it

    def _is_of_addon(self, reference: Any) -> bool:
        """Whether this is of a struct that an add-on registered: each evaluation makes those of a copy anew."""
        assert self._slot is not None
        kind = type(reference)
        if issubclass(kind, _STRUCT):
            return issubclass(kind, _OF_ADDONS)
        if not issubclass(kind, _REFERENCES):
            return False
        block, struct, pointer = words(reference)[self._slot - 1 : self._slot + 2]
        return struct != 0 and block not in (0, pointer) and self._roots[struct] is None

    def _owner(self, reference: Any) -> Any:
        """The data-block of a reference to what is there for certain, or None."""
        try:
            if type(reference) is bpy.types.bpy_func:  # it knows its data-block and does not show it
                assert self._slot is not None
                return Now().block(words(reference)[self._slot - 1])
            return getattr(reference, "id_data", None)
        except ReferenceError:  # an earlier sweep found that it was gone
            return None

    def _invalidate(self, reference: Any) -> None:
        """A null type, as Blender does; where Blender forgets to look at it, something harmless instead."""
        assert self._slot is not None
        donor = self._donors.get(type(reference))
        mine = words(reference)
        if donor is None:
            mine[self._slot] = 0
            if type(reference) is bpy.types.bpy_prop_array:  # `id_data` and `in` do not look at the type
                mine[self._slot - 1], mine[self._slot + 1] = 0, NOWHERE
                mine[self._member[bpy.types.bpy_prop_collection]] = _numbers()
            return
        theirs = words(donor)
        for at in (*range(self._slot - 1, self._slot + 2), self._member[type(donor)]):
            mine[at] = theirs[at]


_UNTRACKED = frozenset({tuple, dict})


def _is_removed(owner: Any) -> bool:
    try:
        return owner.name is None
    except ReferenceError:
        return True


def in_generator() -> bool:
    """Whether a generator of the script's is running: C code of Blender's may be drawing from it."""
    frame = sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_flags & inspect.CO_GENERATOR and frame.f_code.co_filename == "<script>":
            return True
        frame = frame.f_back  # type: ignore[assignment]
    return False


def _is_layer_data(kind: type) -> bool:
    return kind.__name__ in _LAYER_DATA and is_static(kind)


def _is_loose(value: Any) -> bool:
    """Whether this points into memory that it does not know the owner of."""
    if _is_layer_data(type(value)):
        return True
    owner = value.owner
    return type(owner).__name__ == "PyCapsule" or (
        owner is None and value.is_wrapped
    )  # a capsule: a byte colour


@cache
def _numbers() -> int:
    """A property whose numbers are the first bytes of its item."""
    return int(bpy.types.SplinePoint.bl_rna.properties["co"].as_pointer())


@cache
def _type_slot() -> int | None:
    """Which word of a reference is its type: the one between the data-block's pointer and the item's own."""
    scene = bpy.data.scenes[0]
    found = set()
    for item in (scene.render, scene.display, scene.unit_settings):
        memory = words(item)
        wanted = [scene.as_pointer(), item.bl_rna.as_pointer(), item.as_pointer()]
        at = [i for i in range(len(memory) - 2) if list(memory[i : i + 3]) == wanted]
        found.add(at[0] + 1 if len(at) == 1 else None)
    return found.pop() if len(found) == 1 else None
