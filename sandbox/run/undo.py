# SPDX-License-Identifier: GPL-3.0-or-later
"""One undo step for each request, and a roll-back that is exact in every mode.

A push that is made outside object mode records only the edited mesh, and an undo across a change of mode leaves half
of both states behind. So every push is made in object mode, and the modes are entered again afterwards.

Before a script runs, a step is pushed, to which a roll-back returns. If the user's last step holds the same state, the
step with the script's changes replaces the pushed one: so a second undo takes back what the user did before.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from ...base.errors import ExternalServiceError, PolicyError
from ...scene import events, history
from ..blender.operators import undo_steps

__all__ = (
    "Modes",
    "UndoFailed",
    "UndoStep",
    "forget_witness",
    "is_looking",
    "landed",
    "one_step",
    "require_undo",
    "take_back",
)

#: The most bytes of a step's name. Blender cuts longer names at 63 bytes, and this module could not recognise them.
_NAME_LENGTH = 60
_WITNESS, _BEFORE = "mcp_bridge_undo", "before "
"""The custom property of a scene. A new data-block would do, too, but its removal makes Blender rebuild the relations
of all objects: a second for ten thousand of them.
"""


class UndoFailed(ExternalServiceError):
    """Tells that the scene could not be restored; the message says what differs."""


def require_undo() -> None:
    """Raise PolicyError unless Blender's undo records: without it a roll-back would undo the user's own edits."""
    import bpy

    edit = bpy.context.preferences.edit
    if not edit.use_global_undo:
        raise PolicyError(
            "Global Undo is off (Preferences > System), so a failed script could not be rolled back and nothing runs. "
            "Ask the user to switch it on.",
            code="undo_off",
        )
    if edit.undo_steps < 3:
        raise PolicyError(
            f"Undo Steps is {edit.undo_steps} (Preferences > System), too few to roll a failed script back, so nothing "
            "runs. Ask the user to set it to 3 or more (32 is Blender's default).",
            code="undo_off",
        )


#: Modes in which an undo step may lack changes that Blender has not written to the mesh yet.
_UNFLUSHED = frozenset({"EDIT", "SCULPT"})


@dataclass(frozen=True, slots=True)
class Modes:
    """The mode, and the names of the objects in it: references do not survive an undo."""

    mode: str
    active: str | None
    members: tuple[str, ...]

    @classmethod
    def leave(cls) -> Modes:
        """Note the mode and go to object mode."""
        import bpy

        layer: Any = bpy.context.view_layer
        active = layer.objects.active if layer is not None else None
        mode = active.mode if active is not None else "OBJECT"
        members = tuple(o.name for o in layer.objects if o.mode == mode) if mode != "OBJECT" else ()
        if active is not None and mode != "OBJECT":
            bpy.ops.object.mode_set(mode="OBJECT")
        others = [o for o in layer.objects if o.mode in _UNFLUSHED] if layer is not None else ()
        mode_set: Any = bpy.ops.object.mode_set
        for other in others:  # a script made another object active
            layer.objects.active = other
            if mode_set.poll():
                mode_set(mode="OBJECT")
        if others:
            layer.objects.active = active
        return cls(mode, active.name if active is not None else None, members)

    def enter(self) -> None:
        """Enter the noted mode again, with the noted objects; objects that no longer exist stay out."""
        import bpy

        if self.mode == "OBJECT" or self.active is None:
            return
        layer: Any = bpy.context.view_layer
        active = layer.objects.get(self.active)
        if active is None or not active.visible_get():
            return
        selected = [o for o in layer.objects if o.select_get()]
        for item in selected:
            item.select_set(item.name in self.members)
        for name in self.members:
            member = layer.objects.get(name)
            if member is not None:
                member.select_set(True)
        layer.objects.active = active
        mode_set: Any = bpy.ops.object.mode_set
        if mode_set.poll():
            mode_set(mode=self.mode)
        for item in layer.objects:
            item.select_set(item in selected)


class UndoStep:
    """The undo step of one request: `begin`, run the script, then `commit` or `roll_back`."""

    def __init__(self, title: str, request_id: str = "") -> None:
        self._title = _step_name(title)
        self._token = request_id or secrets.token_hex(8)
        self._before: Modes | None = None
        self._may_replace = False
        self._digest: Any = None

    def begin(self) -> None:
        """Record the state before the script; the user's mode is kept. Raises PolicyError if undo does not record.

        A custom property has a value in this step that it has in no other, so that a roll-back can tell that it
        landed here.
        """
        require_undo()
        self._may_replace = _last_step_holds_the_scene()
        undo_steps.begin()
        began = undo_steps.may_make()
        self._before = Modes.leave()
        with _witnessed(_BEFORE + self._token):
            _push(self._title)
            if began:  # the push may have completed a step of Blender's own, which does not hold the scene
                undo_steps.push_grouped(self._title)
        self._digest = digest()
        self._before.enter()

    def commit(self) -> None:
        """Record the script's changes as one step with its title, which replaces the step of `begin` if it may."""
        import bpy

        global _recorded
        modes = Modes.leave()
        undo_steps.finish()
        with _witnessed(self._token):
            (undo_steps.push_grouped if self._may_replace else _push)(self._title)
        modes.enter()
        bpy.context.view_layer.update()  # otherwise these changes would later count as the user's
        history.name_last_change(self._title.rstrip())
        _recorded = events.revision() if events.watching() else -1

    def roll_back(self) -> None:
        """Bring the scene back to `begin`; raises UndoFailed if it is not as before afterwards."""
        import bpy

        assert self._before is not None, "roll_back() without begin()"
        Modes.leave()
        undo_steps.finish()
        _push(f"Failed: {self._title}")
        with _looking():
            bpy.ops.ed.undo()
            landed = _witness().get(_WITNESS) == _BEFORE + self._token
            if not landed:
                bpy.ops.ed.redo()
                raise UndoFailed(
                    "Blender's undo did not record the request: what the script did before it failed is still there"
                )
            del _witness()[_WITNESS]
        differs = compare(self._digest, digest())
        undo_steps.push_grouped(
            self._title
        )  # this also drops the failed state, which Redo must not bring back
        self._before.enter()
        if differs:
            raise UndoFailed(f"the roll-back left differences: {'; '.join(differs[:5])}")


def _step_name(title: str) -> str:
    """Return a name that no operator of Blender gives its own steps: theirs do not end in a space."""
    name = (title.strip() or "MCP script").encode("utf-8", "replace")[:_NAME_LENGTH]
    return name.decode("utf-8", "ignore") + " "


#: The revision after the last step of a request; -1 if no handlers counted revisions.
_recorded = -1


def _last_step_holds_the_scene() -> bool:
    """Return whether an undo would lose nothing if no step were made now.

    With a window, Blender makes a step of each of the user's actions; without one, of none. Outside object mode its
    steps hold only the edited mesh.
    """
    import bpy

    if bpy.context.mode != "OBJECT":
        return False
    return not bpy.app.background or (_recorded != -1 and events.settled(quick=True) == _recorded)


def _push(name: str) -> None:
    """Make an undo step of this name."""
    if not undo_steps.push(name):
        raise PolicyError("Blender does not record undo steps now, so nothing runs", code="undo_off")


_inside = False


@contextmanager
def one_step(title: str) -> Iterator[None]:
    """Make the changes inside this context one undo step with this title; an exception rolls them back. Main thread.

    Inside another such context it is part of the outer step: a batch of calls is one step, and is rolled back as a
    whole.

    Raises PolicyError while undo does not record.
    """
    global _inside
    if _inside:
        yield
        return
    step = UndoStep(title)
    step.begin()
    _inside = True
    try:
        yield
    except BaseException:
        step.roll_back()
        raise
    else:
        step.commit()
    finally:
        _inside = False


@contextmanager
def _witnessed(value: str) -> Iterator[None]:
    """Give the scene the custom property inside this context, to recognise a step that is made here."""
    witness = _witness()
    witness[_WITNESS] = value
    try:
        yield
    finally:
        del witness[_WITNESS]


def _witness() -> Any:
    """Return the scene for the custom property: a local one, of which a file has at least one.

    Undo does not record linked scenes.
    """
    import bpy

    return next(scene for scene in bpy.data.scenes if scene.library is None)


_is_looking = False


@contextmanager
def _looking() -> Iterator[None]:
    """Stop `forget_witness` inside this context: undo handlers run before the caller can read the property."""
    global _is_looking
    _is_looking = True
    try:
        yield
    finally:
        _is_looking = False


def is_looking() -> bool:
    """Return whether an undo is this module's own: a roll-back, or a search for a request's step."""
    return _is_looking


def landed() -> str:
    """Return the id of the request whose step an undo or redo reached, else "". Call before `forget_witness`."""
    found = _witness().get(_WITNESS, "")
    return found if isinstance(found, str) and not found.startswith(_BEFORE) else ""


def forget_witness() -> None:
    """Remove the custom property after the user has reached a request's step by undo or redo."""
    import bpy

    if _is_looking:
        return
    for scene in bpy.data.scenes:
        if scene.library is None and scene.get(_WITNESS) is not None:
            del scene[_WITNESS]


def take_back(request_id: str) -> None:
    """Undo the run of this request, and everything since, such as selecting.

    Redo brings it back. Raises UndoFailed, and changes nothing, if the history has no such step.
    """
    import bpy

    require_undo()
    Modes.leave()
    _push("Undo Script")  # otherwise, if the request's step is the last one, the first undo would pass it
    undo: Any = bpy.ops.ed.undo
    back, found = 0, False
    with _looking():
        while back < bpy.context.preferences.edit.undo_steps and undo.poll() and undo() == {"FINISHED"}:
            back += 1
            if found:
                _witness().pop(_WITNESS, None)
                return
            found = _witness().get(_WITNESS) == request_id
        for _ in range(back):
            bpy.ops.ed.redo()
    forget_witness()
    raise UndoFailed("Blender's undo history does not reach back to before this request; nothing was undone")


# --- a cheap look at everything ---------------------------------------------------------------------------

_COLLECTIONS = (
    "objects meshes curves materials lights cameras armatures collections node_groups images textures actions "
    "scenes worlds texts metaballs lattices particles speakers grease_pencils shape_keys"
).split()


def digest() -> dict[str, Any]:
    """Return the names of all data-blocks, the transforms and references of objects, and the sizes of meshes."""
    import bpy

    found: dict[str, Any] = {}
    for name in _COLLECTIONS:
        collection = getattr(bpy.data, name, None)
        if collection is not None:
            found[name] = frozenset(collection.keys())
    objects = bpy.data.objects
    for name, width in (("location", 3), ("rotation_euler", 3), ("scale", 3)):
        values = [0.0] * (len(objects) * width)
        objects.foreach_get(name, values)
        found[f"objects' {name}"] = hash(tuple(values))
    data = [item.data for item in objects]
    found["objects' data"] = hash((*objects.keys(), *(each.name if each else None for each in data)))
    found["meshes' sizes"] = hash(tuple(len(mesh.vertices) for mesh in bpy.data.meshes))
    found["active object"] = getattr(bpy.context.view_layer.objects.active, "name", None)
    found["frame"] = bpy.context.scene.frame_current
    return found


def compare(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    """Return a sentence for each difference between two digests."""
    said: list[str] = []
    for key, value in before.items():
        now = after.get(key)
        if now == value:
            continue
        if isinstance(value, frozenset) and isinstance(now, frozenset):
            extra, gone = sorted(now - value), sorted(value - now)
            said.append(f"{key}: {extra[:3]} too many, {gone[:3]} missing")
        else:
            said.append(f"{key} differ")
    return said
