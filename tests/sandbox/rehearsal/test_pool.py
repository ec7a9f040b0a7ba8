# SPDX-License-Identifier: GPL-3.0-or-later
"""Who gets which child, and what becomes of it: with children that only note what is asked of them."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, get_args

import pytest
from bl_ext.user_default.mcp_bridge.base.errors import Cancelled, ExternalServiceError
from bl_ext.user_default.mcp_bridge.sandbox.confinement.process import ProcessStatus, Reason
from bl_ext.user_default.mcp_bridge.sandbox.rehearsal import pool as pool_module
from bl_ext.user_default.mcp_bridge.sandbox.rehearsal.pool import (
    Child,
    ChildFailed,
    Needs,
    Pool,
)
from bl_ext.user_default.mcp_bridge.sandbox.rehearsal.program import Program

NEEDS = Needs(Program(("blender",), (), ()), frozenset((Path("/a"),)), memory_mb=1000, disk_mb=100)


class _Child:
    """What a pool sees of a child."""

    def __init__(self, _supervisor: object, needs: Needs, *, warm_up: bool, by: object = None) -> None:
        self.needs, self.warm_up, self.is_copy = needs, warm_up, by is not None
        self.living, self.made_ready = True, False
        self.scene, self.chosen = "none", False
        made.append(self)

    def lend(self, copy: object, seconds: float, cancelled: Callable[[], bool]) -> bool:
        return self.scene in ("none", copy)

    def ready(self, cancelled: Callable[[], bool] = lambda: False) -> None:
        self.made_ready = True
        if failure is not None and (self.is_copy or not copies_alone_fail):
            raise failure

    def alive(self) -> bool:
        return self.living

    def end(self) -> None:
        self.living = False


class _Zygote:
    """What a pool sees of a zygote."""

    def __init__(self, _supervisor: object, needs: Needs, means: object) -> None:
        self.program, self.living, self.retired = needs.program, True, False
        zygotes.append(self)

    def ready(self, cancelled: Callable[[], bool]) -> object:
        if failure is not None and not copies_alone_fail:
            raise failure
        return "copies"

    def alive(self) -> bool:
        return self.living

    def retire(self) -> None:
        self.retired = True

    def end(self) -> None:
        self.living = False


made: list[_Child] = []
zygotes: list[_Zygote] = []
failure: Exception | None = None
copies_alone_fail = False


def _pool(monkeypatch: pytest.MonkeyPatch, zygote_means: object) -> Iterator[Pool]:
    monkeypatch.setattr(pool_module, "Child", _Child)
    monkeypatch.setattr(pool_module, "Zygote", _Zygote)
    made.clear()
    zygotes.clear()
    found = Pool(SimpleNamespace(zygote=lambda: zygote_means), at_once=2)  # type: ignore[arg-type]
    yield found
    found.close()


@pytest.fixture
def pool(monkeypatch: pytest.MonkeyPatch) -> Iterator[Pool]:
    """Where nothing can be copied: two children wait."""
    yield from _pool(monkeypatch, None)


@pytest.fixture
def copying_pool(monkeypatch: pytest.MonkeyPatch) -> Iterator[Pool]:
    yield from _pool(monkeypatch, "means")


def _settled(pool: Pool, count: int) -> list[_Child]:
    """All children, once `count` of them were made and the pool has ended the first, which it was done with."""
    until = time.monotonic() + 30
    while (len(made) < count or made[0].living) and time.monotonic() < until:
        time.sleep(0.005)
    assert len(made) == count
    return made


class TestNeeds:
    @pytest.mark.parametrize(
        ("has", "serves"),
        [
            ({}, True),
            ({"memory_mb": 2000, "disk_mb": 200, "readable": frozenset((Path("/a"), Path("/b")))}, True),
            ({"memory_mb": 999}, False),
            ({"disk_mb": 99}, False),
            ({"large": True}, True),
            ({"readable": frozenset()}, False),
            ({"program": Program(("other",), (), ())}, False),
        ],
    )
    def test_what_has_more_serves_what_needs_less(self, has: dict[str, Any], serves: bool) -> None:
        assert replace(NEEDS, **has).serves(NEEDS) == serves


class TestPool:
    def test_the_first_child_is_cold_and_the_next_one_was_waiting(self, pool: Pool) -> None:
        with pool.child(NEEDS) as first:
            assert (first.warm_up, first.made_ready) == (False, True)
        first, warm, _ = _settled(pool, 3)
        assert (first.living, warm.living, warm.warm_up) == (False, True, True)
        with pool.child(NEEDS) as second:
            assert second is warm

    def test_a_child_that_does_not_fit_is_ended_for_one_that_does(self, pool: Pool) -> None:
        pool.warm(NEEDS)
        with pool.child(replace(NEEDS, memory_mb=5000)) as child:
            assert child.needs.memory_mb == 5000
            assert [one.living for one in made] == [False, False, True]

    def test_a_child_with_another_scene_open_is_ended_and_the_next_one_serves(self, pool: Pool) -> None:
        pool.warm(NEEDS)
        made[0].scene = "another"
        with pool.child(NEEDS, copy="this") as child:  # type: ignore[arg-type]
            assert child is made[1]
            assert not made[0].living

    def test_a_child_with_the_same_scene_open_serves(self, pool: Pool) -> None:
        pool.warm(NEEDS)
        made[0].scene = "this"
        with pool.child(NEEDS, copy="this") as child:  # type: ignore[arg-type]
            assert child is made[0]

    def test_the_child_that_opens_the_next_scene_has_none_open(self, pool: Pool) -> None:
        pool.warm(NEEDS)
        assert pool.choose(NEEDS) is made[0]
        made[0].scene = "opening"
        assert pool.choose(NEEDS) is made[1]
        assert [one.living for one in made] == [False, True, True]

    def test_a_child_that_died_while_it_waited_is_replaced(self, pool: Pool) -> None:
        pool.warm(NEEDS)
        made[0].living = made[1].living = False
        with pool.child(NEEDS) as child:
            assert child is made[2]

    def test_a_child_that_waits_is_not_made_twice(self, pool: Pool) -> None:
        pool.warm(NEEDS)
        pool.warm(NEEDS)
        assert len(made) == 2
        pool.warm(replace(NEEDS, disk_mb=500))
        assert [one.living for one in made] == [False, False, True, True]

    def test_a_rehearsal_that_fails_gives_its_place_back(
        self, pool: Pool, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for _ in range(5):  # more than there are places
            with pytest.raises(ChildFailed, match="no"), pool.child(NEEDS):
                raise ChildFailed("no")

    def test_a_child_that_does_not_get_ready_is_ended(
        self, pool: Pool, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setitem(globals(), "failure", ChildFailed("it is not confined"))
        with pytest.raises(ChildFailed, match="it is not confined"), pool.child(NEEDS):
            pytest.fail("there is no child to use")
        assert _settled(pool, 3)[0].living is False

    def test_two_at_once_and_a_third_one_waits(self, pool: Pool) -> None:
        go_on, inside = threading.Event(), threading.Semaphore(0)

        def rehearse() -> None:
            with pool.child(NEEDS):
                inside.release()
                go_on.wait(60)

        threads = [threading.Thread(target=rehearse) for _ in range(3)]
        for thread in threads:
            thread.start()
        assert inside.acquire(timeout=30)
        assert inside.acquire(timeout=30)
        assert not inside.acquire(timeout=0.2)
        go_on.set()
        assert inside.acquire(timeout=30)
        for thread in threads:
            thread.join()

    def test_closed_it_keeps_no_child(self, pool: Pool) -> None:
        pool.warm(NEEDS)
        pool.close()
        assert [one.living for one in made] == [False, False]
        pool.warm(NEEDS)
        assert len(made) == 2

    def test_what_cannot_be_confined_leaves_the_pool_usable(
        self, pool: Pool, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def refuse(*_: object, **__: object) -> None:
            raise ExternalServiceError("nothing confines a process here")

        monkeypatch.setattr(pool_module, "Child", refuse)
        for _ in range(5):
            with pytest.raises(ExternalServiceError, match="nothing confines"), pool.child(NEEDS):
                pytest.fail("there is no child to use")


class TestCopies:
    """Where a Blender can be copied: a zygote gets warm once, and each child is a copy of it."""

    def test_the_first_is_started_by_itself_and_all_others_are_copies_of_one_zygote(
        self, copying_pool: Pool
    ) -> None:
        with copying_pool.child(NEEDS) as first:
            assert (first.is_copy, first.warm_up, first.made_ready) == (False, False, True)
        _, waiting = _settled(copying_pool, 2)
        with copying_pool.child(NEEDS) as second, copying_pool.child(NEEDS) as third:
            assert (second is waiting, second.is_copy, third.is_copy) == (True, True, True)
        assert len(zygotes) == 1

    def test_a_large_scene_has_a_child_with_all_processors(self, copying_pool: Pool) -> None:
        copying_pool.warm(NEEDS)
        large = replace(NEEDS, large=True)
        with copying_pool.child(large) as child:
            assert (child.is_copy, child.needs, made[0].living) == (False, large, False)

    def test_another_program_has_another_zygote(self, copying_pool: Pool) -> None:
        copying_pool.warm(NEEDS)
        copying_pool.warm(replace(NEEDS, program=Program(("other",), (), ())))
        assert [zygote.retired for zygote in zygotes] == [True, False]

    def test_a_zygote_that_has_died_is_replaced(self, copying_pool: Pool) -> None:
        copying_pool.warm(NEEDS)
        zygotes[0].living = made[0].living = False
        with copying_pool.child(NEEDS) as child:
            assert child.is_copy
        assert len(zygotes) == 2

    def test_what_cannot_be_copied_is_tried_once_and_started_by_itself(
        self, copying_pool: Pool, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with monkeypatch.context() as patch:
            patch.setitem(globals(), "failure", ChildFailed("it has 5 threads"))
            patch.setitem(globals(), "copies_alone_fail", False)
            copying_pool.warm(NEEDS)
        with copying_pool.child(NEEDS) as child:
            assert (child.is_copy, child.warm_up) == (False, True)
        assert [zygote.living for zygote in zygotes] == [False]

    def test_a_copy_that_fails_is_replaced_by_a_child_of_its_own(
        self, copying_pool: Pool, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        copying_pool.warm(NEEDS)
        monkeypatch.setitem(globals(), "failure", ChildFailed("it is not confined"))
        monkeypatch.setitem(globals(), "copies_alone_fail", True)
        with copying_pool.child(NEEDS) as child:
            assert (child.is_copy, made[0].is_copy, made[0].living) == (False, True, False)
        assert zygotes[0].retired

    def test_renewed_it_uses_nothing_that_was_there_before(self, copying_pool: Pool) -> None:
        copying_pool.warm(NEEDS)
        copying_pool.renew()
        assert (made[0].living, zygotes[0].retired, zygotes[0].living) == (False, True, True)
        copying_pool.warm(NEEDS)
        assert len(zygotes) == 2

    def test_closed_it_ends_every_zygote(self, copying_pool: Pool) -> None:
        copying_pool.warm(NEEDS)
        copying_pool.renew()
        copying_pool.warm(NEEDS)
        copying_pool.close()
        assert [zygote.living for zygote in zygotes] == [False, False]


class _Supervisor:
    """A supervisor whose one process is as the test says."""

    def __init__(self, status: ProcessStatus, answers: list[bytes | None]) -> None:
        self._status, self._answers = status, answers
        self.removed: list[Path] = []

    def new_folder(self) -> Path:
        return Path("/work")

    def shared_folder(self) -> Path:
        return Path("/shared")

    def canary(self) -> dict[str, Any]:
        return {"file": "/canary", "port": 1}

    def start(self, spec: Any, by: object = None) -> str:
        self.spec = spec
        return "handle"

    def receive(self, _handle: str, _timeout: float) -> bytes | None:
        if not self._answers:
            raise TimeoutError
        return self._answers.pop(0)

    def wait(self, _handle: str, _timeout: float) -> ProcessStatus:
        return self._status

    status = kill = lambda self, _handle: self._status

    def limit_time(self, _handle: str, _seconds: float) -> None: ...

    def send(self, _handle: str, _line: bytes) -> None: ...

    def chatter(self, _handle: str) -> str:
        return ""

    def last_words(self, _handle: str) -> str:
        return "; it printed last: “no”"

    def remove_folder(self, folder: Path) -> None:
        self.removed.append(folder)


def _child(reason: Reason | None, answers: list[bytes | None], **status: Any) -> tuple[Child, _Supervisor]:
    state = status.pop("state", "failed")
    facts = ProcessStatus(1, state, status.pop("exit_code", None), 0.0, reason=reason, **status)
    supervisor = _Supervisor(facts, answers)
    return Child(supervisor, NEEDS, warm_up=False), supervisor  # type: ignore[arg-type]


class TestChild:
    def test_one_that_cannot_be_started_leaves_no_folder(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def refuse(*_: object) -> None:
            raise ExternalServiceError("nothing confines a process here")

        monkeypatch.setattr(_Supervisor, "start", refuse)
        supervisor = _Supervisor(ProcessStatus(1, "failed", None, 0.0), [])
        with pytest.raises(ExternalServiceError, match="nothing confines"):
            Child(supervisor, NEEDS, warm_up=False)  # type: ignore[arg-type]
        assert supervisor.removed == [Path("/work")]

    def test_it_may_read_what_it_needs_and_reach_nobody(self) -> None:
        child, supervisor = _child(None, [])
        assert supervisor.spec.net_policy == "deny"
        assert set(supervisor.spec.readable) == {Path("/shared"), Path("/a")}
        assert (supervisor.spec.mem_limit_mb, supervisor.spec.disk_mb) == (1000, 100)
        child.end()
        assert supervisor.removed == [Path("/work")]

    def test_only_what_holds_everything_is_ready(self) -> None:
        child, _ = _child(None, [b'{"ready": true, "blender": "4.2", "in_force": ["read", "network"]}'])
        with pytest.raises(ChildFailed, match="the confinement does not hold: only read, network is refused"):
            child.ready()

    @pytest.mark.parametrize("reason", [*get_args(Reason), None])
    def test_every_end_has_its_words(self, reason: Reason | None) -> None:
        child, _ = _child(reason, [None], exit_code=7, signal=11, detail="no such file")
        with pytest.raises(ChildFailed, match=r"^the confined Blender .{10}.*; it printed last: “no”$"):
            child.ask({}, 1.0, lambda: False)  # type: ignore[typeddict-item]

    def test_one_that_says_nothing_is_told_of(self, monkeypatch: pytest.MonkeyPatch) -> None:
        child, _ = _child(None, [], state="running")
        with pytest.raises(ChildFailed, match="did not answer in time"):
            child.receive(0.05, lambda: False)

    def test_waiting_can_be_cancelled(self) -> None:
        child, _ = _child(None, [], state="running")
        with pytest.raises(Cancelled):
            child.ready(lambda: True)
