# SPDX-License-Identifier: GPL-3.0-or-later
"""References to what Blender has freed are cut off, as Blender itself does it for removed data-blocks.

A reference to a vertex, bone, socket or modifier is a bare pointer. When the array behind it moves or the item is
removed, the next use reads or writes freed memory and takes Blender down. Blender knows how to say "has been removed",
but only does so for whole data-blocks. So after every step that may free such items, the references that the script
still holds are found (`lifetime.held`), compared with what the data-block has now (`existing`), and those that point
nowhere are cut off (`lifetime.memory`). Whose parts go with a data-block is noted before it is removed.

A reference of which it cannot be told whether it still points to something is cut off, too. One that cannot be cut off
ends the run.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NoReturn

import bmesh
import bpy

from ..facts.members import names
from ..guard import native
from ..guard.meter import closed
from . import freeing, layers, layout, memory, parts, sharing
from .bmesh import layers as bmesh_layers
from .bmesh.drawn import Drawn
from .bmesh.made import Made
from .bmesh.removals import ELEMENTS, Watched
from .custom_properties import PARTS, Given
from .existing import KindsByPointer, Now
from .held import Held
from .hidden import Hidden
from .references import (
    ANY,
    BLENDERS,
    LENT,
    PARTS_OF_MESH,
    ROOTED,
    ROOTS,
    SHARED_ROOT,
    STRUCT,
    is_loose,
    references,
)

__all__ = ("FRAGILE", "Stale")

#: Elements of arrays that grow while scripts hold their points: read through the host, so that a sweep can wait.
FRAGILE = names("fragile elements")

_FLAGGED = tuple(getattr(bpy.types, name) for name in sorted(layers.WRITTEN) if hasattr(bpy.types, name))
_NONE: frozenset[str] = frozenset()


def _is_in(modes: frozenset[str], overridden: bool) -> bool:
    """Whether the mode is one of these, and the object is in its own, whatever a `temp_override` says of it."""
    if not modes or bpy.context.mode not in modes:
        return False
    active = bpy.context.view_layer.objects.active if overridden else None
    return active is None or active.mode == "OBJECT"


_closed = closed("whether what the script holds is still there")


class Stale:
    """Finds and invalidates the references of one run. `open` before the script runs, `close` after it."""

    def __init__(self, refuse: Callable[[str], NoReturn], *, cuts: bool = True) -> None:
        """`refuse` ends the run with a message; `cuts`: references may be cut off by writing memory."""
        self.refuse = refuse
        self._cuts = cuts
        self.held = Held()
        self.hidden = Hidden(Now)
        self.drawn = Drawn()
        parts.prepare()
        self._variables: dict[str, Any] = {}
        self._kinds = KindsByPointer()
        self._pending = False
        self._aliased = False
        self._keyed = False
        self._harmless = _NONE
        """In which modes the running operator has to end to have freed and moved nothing."""
        self._owned: list[tuple[Any, Any]] = []
        self._parts: list[Any] = []
        self.properties = Given()
        self.touched_collections = False
        """Whether the script has come to what few calls free: what follows the collections, or a text's lines."""
        self.made = Made(self.held, self._writing)
        self.touched_evaluated = False
        """Whether the script has come to a depsgraph, and so to evaluated copies."""
        self.evaluations = 0
        self.touched_layers = False
        """Whether the script has come to layers of a BMesh whose values are references."""
        self.watched = Watched()
        self.touched_edit_meshes = False
        """Whether it has come to the BMesh of edit mode."""
        self._edited: list[tuple[Any, int]] = []
        """Each that it was given, and where it lies: Blender frees it when edit mode is left."""
        self.touched_arrays = False
        """Whether the script has come to parts of meshes, or to other arrays that are shared with copies."""
        self._shared: list[sharing.Noted] = []
        self.layered = False
        """Whether the script has come to layers of a mesh, of curves or of a drawing."""
        self._made_layers: set[tuple[Any, str]] = set()
        """The flags that have their layer by now, each with its data-block."""
        self.fitting: set[tuple[Any, str]] = set()
        """Meshes, each with a flag of which the layer is as Blender needs it."""
        self._lent: bmesh_layers.Lent | None = None
        self._memory: list[Any] = []
        self.lending: dict[int, set[int]] = {}
        """By the id of an instance whose turn it is, where the objects are that were lent in its loop."""

    def open(self, variables: dict[str, Any]) -> None:
        """The script is about to run; `variables` are its globals."""
        self._variables = variables
        if not layout.are_known():
            self.refuse(
                "this Blender keeps references in another way than is known: no script can run safely in it"
            )
        memory.allow(self._cuts)
        self._disown_context()
        self.held.open(variables)

    def close(self) -> None:
        """The script is over."""
        memory.allow(False)
        self.held.close()
        self.made.close()

    @_closed
    def _disown_context(self) -> None:
        """Nothing that a script gets through the context refers to a scene that is freed or about to be."""
        memory.disown_context()

    @_closed
    def read_fragile(self, *, aliases: bool) -> None:
        """An element of a growing array is about to be used; `aliases`: the script gets a view of its memory."""
        if self._pending:
            self._sweep()
        self._aliased = self._aliased or aliases

    @_closed
    def after_growth(self, of: Any = None) -> None:
        """Items of `of` that are read through `read_fragile` have moved, if the script has views of their memory."""
        if of is not None:
            self.hidden.freed(of)
        if self._aliased:
            self._sweep()
        else:
            self._pending = True

    def read_keys(self) -> None:
        """The script is about to be given keyframes."""
        self._keyed = True

    def after_key(self) -> None:
        """A keyframe was inserted, or a curve updated, which moves those of the curve."""
        if self._keyed:
            self.after_growth()

    @_closed
    def before_removal(self, *, evaluates: bool = False) -> None:
        """Data-blocks may be about to go: note whose parts the script holds, which nobody can tell afterwards.

        So may the parts of evaluated copies: these stay the same data-blocks when the scene is evaluated anew.
        """
        self._disown_context()
        self.evaluations += evaluates
        self.before_move(self.touched_edit_meshes)
        held, now = self.held.find(ROOTED), Now()
        self._parts = [value for value in held if PARTS[type(value)]]
        self._owned += [(reference, self._owner(reference, now)) for reference in references(held)]

    @_closed
    def after_removal(self) -> None:
        """Cut off the parts of those that went; Blender itself does so for the data-blocks alone."""
        self._cut_off_removed()
        self._cut_off(self.properties.gone(self._parts))
        self._parts.clear()

    def watch(self) -> None:
        """The script has come to layers of a BMesh whose values are noted when they are read."""
        if not self.watched.active:
            self.watched.active = True
            native.guard_items(self._variables, ELEMENTS)

    def edit(self, mesh: Any) -> None:
        """The script is given the BMesh of edit mode."""
        self.touched_edit_meshes = True
        if all(mesh is not known for known, _address in self._edited):
            self._edited.append((mesh, layout.address_of_mesh(mesh)))

    @_closed
    def before_move(self, held: bool) -> None:
        """Layers or coordinates of a BMesh are about to move or go: note what the script holds of them, if it may."""
        if held:
            lent = self.held.find(LENT)
            meshes = [value for value in lent if type(value) is bmesh.types.BMesh]
            loose = [value for value in lent if type(value) is not bmesh.types.BMesh and is_loose(value)]
            self._lent = bmesh_layers.note(loose, meshes)

    @_closed
    def after_move(self) -> None:
        """They did."""
        if self._lent is not None:
            lent, self._lent = self._lent, None
            with self._writing():
                self._memory += lent.renew()

    def _cut_off_removed(self) -> None:
        self.after_move()
        for mesh, address in [each for each in self._edited if not each[0].is_valid]:
            self._edited.remove((mesh, address))
            with self._writing():
                memory.forget_mesh(address, self.held.find(PARTS_OF_MESH))
        owned, now = self._owned, Now()
        self._owned = []
        self._cut_off(reference for reference, owner in owned if self._went(reference, owner, now))

    def _went(self, reference: Any, owner: Any, now: Now) -> bool:
        """Whether a reference went with its data-block, or with what that had when the scene was evaluated before."""
        if owner is None:
            return self._is_gone(reference, now)
        try:
            return owner.session_uid is None or (
                self.touched_evaluated and owner.is_evaluated and self._is_gone(reference, now)
            )
        except Exception:  # mostly a ReferenceError: the data-block was removed
            return True

    @contextlib.contextmanager
    def _writing(self) -> Iterator[None]:
        """What is not cut off inside ends the run: the script could use it."""
        try:
            yield
        except memory.CannotCut as why:
            self.refuse(f"what the script still holds of what was removed cannot be made to say so: {why}")

    def _cut_off(self, references: Iterable[Any]) -> None:
        with self._writing():
            for reference in references:
                memory.cut_off(reference)

    def evaluate(self) -> None:
        """The script is given a depsgraph: a value may be an evaluated copy from now on, so each write is looked at."""
        if not self.touched_evaluated:
            self.touched_evaluated = True
            native.guard_writes(self._variables, STRUCT)

    def writes_natively(self, kind: type) -> bool:
        """Whether an attribute of a type of Blender's may be written without a look at what the write moves."""
        return not (self.touched_evaluated or (self.layered and issubclass(kind, _FLAGGED)))

    def read_layers(self) -> None:
        """The script is given layers: from now on they are looked for where a write or a function may make one."""
        if not self.layered:
            self.layered = True
            native.guard_writes(self._variables, _FLAGGED)

    def may_make_layers(self, value: Any, flag: str = "") -> Any:
        """The data-block in which what is done to `value` may make a layer; None where it makes none.

        `flag`: the only one that may get its layer.
        """
        block = layers.owner_of(value) if self.layered else None
        return None if block is None or (block, flag) in self._made_layers else block

    @contextlib.contextmanager
    def keeping_layers(self, value: Any, flag: str = "") -> Iterator[list[Any]]:
        """References to layers follow what is done to `value` inside, but those that are put into the list: new ones.

        `flag`: the only one that may get its layer.
        """
        new: list[Any] = []
        block = self.may_make_layers(value, flag)
        if block is None:
            yield new
            return
        before = layers.noted(block)
        try:
            yield new
        finally:
            self._follow_layers(block, before, new)
        if flag:
            self._made_layers.add((block, flag))

    @_closed
    def _follow_layers(self, block: Any, before: layers.Layers, new: list[Any]) -> None:
        after = layers.noted(block)
        if after != before:
            with self._writing():
                layers.follow(references(self.held.find(ROOTED)), before, after, new)

    def share(self, kind: type, name: str) -> None:
        """The script reads arrays that copies share; from now on it does so natively: this is all to be known."""
        self.touched_arrays = True
        native.reads_natively(self._variables, name, kind)

    @_closed
    def before_sharing(self) -> None:
        """Arrays are about to be shared with copies, which their items leave when they are looked at again."""
        if self.touched_arrays:
            found = [(each, self._array_of(each)) for each in references(self.held.find(BLENDERS))]
            self._shared = sharing.note([each for each in found if each[1]])

    @_closed
    def after_sharing(self) -> None:
        """They may be: let the references follow."""
        with self._writing():
            while self._shared:
                self._shared.pop().follow()

    def _array_of(self, reference: Any) -> str:
        """The root of an item of arrays that may be shared with copies, or of a collection or array of one; or ""."""
        kind = type(reference)
        if issubclass(kind, STRUCT):
            return SHARED_ROOT[kind]
        struct = layout.pointers(reference).struct
        return SHARED_ROOT[self._kinds[struct]] if struct else ""

    @_closed
    def let_go(self, lent: set[int]) -> None:
        """Cut off the objects at these addresses, and all that is known to be theirs."""
        self._cut_off(
            reference
            for reference in references(self.held.find(BLENDERS))
            if not lent.isdisjoint(layout.pointers(reference)[::2])
        )

    @_closed
    def before_operator(self, idname: str, *, overridden: bool) -> None:
        """An operator is about to run, within a `temp_override` or not."""
        self._made_layers.clear()
        self.fitting.clear()
        self.hidden.before(idname)
        self.drawn.before()
        began, ends = freeing.harmless_in(idname, meshes=self.touched_arrays or self.touched_edit_meshes)
        self._harmless = ends if _is_in(began, overridden) else _NONE
        with self.held.one_moment(ANY):
            if self.touched_arrays:
                self.before_sharing()
            if self.touched_evaluated or not freeing.spares_blocks(idname):
                self.before_removal(evaluates=True)
            elif self.touched_edit_meshes and not idname.startswith(freeing.KEEPING_ELEMENTS):
                self.before_move(held=True)

    @_closed
    def after_operator(self, idname: str, *, overridden: bool) -> None:
        """It ran."""
        self.hidden.after(idname)
        self.drawn.after()
        self.after_sharing()
        self._parts.clear()
        self._cut_off_removed()
        if not _is_in(self._harmless, overridden):
            self._sweep()
        else:
            self.after_key()  # objects that are moved get keyframes where Blender inserts these by itself

    @_closed
    def sweep(
        self, there: tuple[Any, ...] = (), roots: frozenset[str] | None = None, *, of: Any = None
    ) -> None:
        """Cut off every reference (to items under `roots`) that points to nothing any more.

        What is `there` for certain is not looked for, as that would often be the only search there is: what Blender
        has made just now, and what it made it in. `of`: the data-block whose items may have been freed, where that is
        known.
        """
        self.hidden.freed(of)
        self._sweep(there, roots)

    @_closed
    def _sweep(self, there: tuple[Any, ...] = (), roots: frozenset[str] | None = None) -> None:
        self._pending = False
        self._made_layers.clear()
        self.fitting.clear()
        held, now, known = self.held.find(ROOTED), Now(), frozenset(map(id, there))
        self._cut_off(
            reference
            for reference in references(held)
            if id(reference) not in known and self._is_gone(reference, now, roots)
        )
        held_parts = [value for value in held if PARTS[type(value)]]
        if held_parts or self.properties.given:
            self._cut_off(self.properties.gone(held_parts))

    @_closed
    def after_property(self) -> None:
        """A custom property with parts was replaced or removed."""
        self._cut_off(self.properties.gone(self.held.find(PARTS)))

    @_closed
    def after_inputs(self) -> None:
        """Custom properties may have been replaced that are seldom read."""
        if self.properties.given:
            self.after_property()

    def _is_gone(self, reference: Any, now: Now, roots: frozenset[str] | None = None) -> bool:
        """Whether nothing lies where a reference points, or that cannot be told. It may be freed memory: nobody looks.

        Blender itself tells of whole data-blocks, and of what lasts as long as the program.
        """
        kind = type(reference)
        is_struct = issubclass(kind, STRUCT)
        try:
            item = reference.as_pointer() if is_struct else 0
        except ReferenceError:  # it was cut off, or its data-block was removed
            return False
        try:
            if not is_struct or (owner := reference.id_data) is None:
                if memory.of_removed(kind):
                    return False
                found = layout.pointers(reference)
                kind, owner, item = self._kinds[found.struct], self._owner(reference, now, found), found.item
            root = ROOTS[kind]
            if root is None or (roots is not None and root not in roots):
                return False
            return not (now.has(owner, root, item, kind) or self.hidden.has(owner, root, item, kind))
        except Exception:
            return True

    def _owner(self, reference: Any, now: Now, found: layout.Pointers | None = None) -> Any:
        """The data-block of a reference, which is there for certain; None where it has none."""
        block, struct, _item = found or layout.pointers(reference)
        if struct == 0 or block == 0:
            return None
        # a function knows its data-block and does not show it
        return now.block(block) if type(reference) is bpy.types.bpy_func else reference.id_data
