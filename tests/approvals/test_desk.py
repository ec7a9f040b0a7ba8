# SPDX-License-Identifier: GPL-3.0-or-later
"""Whatever the order of steps, nothing runs without a yes to exactly it, and nothing runs twice."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from bl_ext.user_default.mcp_bridge.approvals.desk import KEEP_COUNT, MOST_OPEN, Desk, OutOfTurn, SceneChanged
from bl_ext.user_default.mcp_bridge.approvals.request import (
    Entry,
    InjectScriptRequest,
    digest,
    from_dict,
    to_dict,
)
from bl_ext.user_default.mcp_bridge.base.errors import InvalidParamsError, PolicyError
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, rule

CLIENT = "c1"


def request(name: str = "r1", raw: str = "x = 1", **more: Any) -> InjectScriptRequest:
    return InjectScriptRequest(name, "Cursor", "format-to-bpy", raw, 0.0, client_id=CLIENT, **more)


def waiting(desk: Desk, name: str = "r1", *, revision: int = 1, **more: Any) -> Entry:
    """A request that was rehearsed at `revision` and is before the user."""
    desk.submit(request(name, **more), asks="panel")
    desk.extracted(name, "x = 1\n")
    desk.validated(name, {"is_valid": True})
    desk.rehearsed(name, {"outcome": "success"}, "Nothing in the scene would change.", revision)
    return desk.ask(name, revision=revision)


def agree(desk: Desk, entry: Entry) -> Entry:
    assert entry.revision is not None
    return desk.confirm(entry.id, sha256=entry.sha256, revision=entry.revision, by="the user in the panel")


def test_the_whole_way_is_recorded() -> None:
    desk = Desk()
    agree(desk, waiting(desk))
    taken = desk.take("r1", revision=1)
    assert (taken.script, taken.running) == ("x = 1\n", True)
    done = desk.applied("r1", {"status": "success"})
    assert (done.state, done.record.user_confirmed, done.record.live_result) == (
        "applied",
        True,
        {"status": "success"},
    )
    assert done.record.logs == (
        "received from Cursor",
        "script found",
        "valid",
        "rehearsed",
        "waiting for the user",
        "confirmed by the user in the panel",
        "running",
        "applied",
    )
    assert from_dict(to_dict(done)) == done


def test_a_yes_counts_once() -> None:
    desk = Desk()
    agree(desk, waiting(desk))
    desk.take("r1", revision=1)
    with pytest.raises(OutOfTurn, match="nobody said yes to it"):
        desk.take("r1", revision=1)


def test_a_yes_to_what_was_shown_is_no_yes_to_what_came_after() -> None:
    desk = Desk()
    shown = waiting(desk)
    desk.resubmit("r1", CLIENT, "x = 2")
    desk.extracted("r1", "x = 2\n")
    desk.validated("r1", {})
    desk.rehearsed("r1", {}, "", 1)
    desk.ask("r1", revision=1)
    with pytest.raises(OutOfTurn, match="has changed since it was shown"):
        agree(desk, shown)
    assert desk.get("r1").state == "waiting"


def test_a_changed_script_needs_a_new_yes() -> None:
    desk = Desk()
    agree(desk, waiting(desk))
    desk.resubmit("r1", CLIENT, "x = 2")
    with pytest.raises(OutOfTurn, match="nobody said yes"):
        desk.take("r1", revision=1)


def test_a_changed_scene_is_rehearsed_and_asked_about_again() -> None:
    desk = Desk()
    agree(desk, waiting(desk))
    with pytest.raises(SceneChanged, match="the scene changed"):
        desk.take("r1", revision=2)
    again = desk.get("r1")
    assert (again.state, again.yes, again.revision) == ("validated", None, None)
    with pytest.raises(OutOfTurn):
        desk.take("r1", revision=1)


def test_what_was_estimated_to_make_too_much_is_rehearsed_before_it_runs_again() -> None:
    desk = Desk()
    desk.submit(request(tool="execute_blender_code"), asks="nobody")
    desk.extracted("r1", "x = 1")
    desk.validated("r1", {})
    desk.permit("r1", revision=1)
    with pytest.raises(OutOfTurn, match="cannot be postponed"):
        desk.postponed("r1", "too many")
    desk.take("r1", revision=1)
    again = desk.postponed("r1", "too many")
    assert (again.state, again.running, again.yes, again.closer) == ("validated", False, None, "too many")
    with pytest.raises(OutOfTurn, match="not rehearsed, which is obligatory: too many"):
        desk.permit("r1", revision=1)
    with pytest.raises(OutOfTurn, match="not rehearsed, which is obligatory"):
        desk.ask("r1", revision=1)
    desk.rehearsed("r1", {"growth": {}}, "", 1)
    desk.permit("r1", revision=1)
    desk.take("r1", revision=1)
    with pytest.raises(OutOfTurn, match="cannot be postponed"):
        desk.postponed("r1", "too many")


def test_an_injected_script_is_never_applied_unasked_nor_unrehearsed() -> None:
    desk = Desk()
    with pytest.raises(PolicyError, match="never applied without an explicit yes"):
        desk.submit(request(), asks="nobody")
    desk.trust(CLIENT, "Cursor")
    desk.submit(request(), asks="panel")
    desk.extracted("r1", "x = 1")
    desk.validated("r1", {})
    with pytest.raises(OutOfTurn, match="was not rehearsed, which is obligatory"):
        desk.ask("r1", revision=1)
    with pytest.raises(OutOfTurn, match="may not run unasked"):
        desk.permit("r1", revision=1)


def test_who_is_asked_cannot_be_got_round_by_permitting() -> None:
    desk = Desk()
    entry = waiting(desk, tool="execute_blender_code")
    with pytest.raises(OutOfTurn, match="may not run unasked"):
        desk.permit(entry.id, revision=1)


def test_a_revoked_client_runs_nothing_and_asks_nothing_any_more() -> None:
    desk = Desk()
    desk.trust(CLIENT, "Cursor")
    agree(desk, waiting(desk))
    desk.revoke(CLIENT)
    assert (desk.get("r1").state, desk.get("r1").reason, desk.trusted) == (
        "cancelled",
        "the client was revoked",
        {},
    )
    with pytest.raises(OutOfTurn):
        desk.take("r1", revision=1)
    with pytest.raises(PolicyError, match="this client was revoked"):
        desk.submit(request("r2"), asks="panel")


def test_so_many_requests_of_a_client_are_open_and_no_more() -> None:
    desk = Desk()
    for number in range(MOST_OPEN):
        desk.submit(request(f"r{number}", raw=f"x = {number}"), asks="panel")
        desk.extracted(f"r{number}", f"x = {number}")
    with pytest.raises(PolicyError, match="32 requests of yours are open, which is the limit"):
        desk.submit(request("one more", raw="y = 1"), asks="panel")
    other = InjectScriptRequest("other", "Zed", "contextual", "y = 1", 0.0, client_id="c2")
    assert desk.submit(other, asks="panel").state == "received"
    desk.cancel("r0")
    desk.submit(request("one more", raw="y = 1"), asks="panel")
    desk.submit(request("yet another", raw="z = 1"), asks="panel")
    assert desk.get("one more").reason == "newer requests came instead"


def test_a_question_needs_a_yes_and_no_rehearsal() -> None:
    desk = Desk()
    with pytest.raises(PolicyError, match="explicit yes"):
        desk.submit(request(tool="question"), asks="nobody")
    desk.submit(request(raw="Overwrite a.png?", tool="question"), asks="panel")
    desk.extracted("r1", "Overwrite a.png?")
    desk.validated("r1", {})
    entry = desk.ask("r1", revision=0, unrehearsed="Overwrite a.png?")
    with pytest.raises(OutOfTurn, match="nobody said yes"):
        desk.take("r1", revision=0)
    agree(desk, entry)
    assert desk.take("r1", revision=0).running


def test_an_attempt_to_reach_outside_blender_stays_on_the_request() -> None:
    desk = Desk()
    desk.submit(request(raw="import os"), asks="panel")
    entry = desk.extracted("r1", "import os, socket")
    assert (entry.alert, entry.record.logs[-1]) == ("os, socket", "script found; it tries to use os, socket")
    desk.invalid("r1", "'os' cannot be imported")
    desk.resubmit("r1", CLIENT, "x = 1")
    assert desk.extracted("r1", "x = 1").alert == "os, socket"


def test_only_what_ran_is_undone_and_once() -> None:
    desk = Desk()
    agree(desk, waiting(desk))
    with pytest.raises(OutOfTurn, match="cannot be undone"):
        desk.undone("r1")
    desk.take("r1", revision=1)
    assert desk.applied("r1", {}, revision=5).applied_revision == 5
    undone = desk.undone("r1")
    assert (undone.state, undone.undone, undone.record.logs[-1]) == ("applied", True, "undone by the user")
    with pytest.raises(OutOfTurn, match="cannot be undone"):
        desk.undone("r1")
    later = Desk()
    later.recall([from_dict(to_dict(undone))], "closed")
    assert later.get("r1").applied_revision is None


def test_what_nobody_is_asked_about_but_was_rehearsed_runs_in_that_scene() -> None:
    desk = Desk()
    desk.submit(request(tool="execute_blender_code"), asks="nobody")
    desk.extracted("r1", "x = 1")
    desk.validated("r1", {})
    desk.rehearsed("r1", {}, "", 3)
    desk.permit("r1", revision=4)
    with pytest.raises(SceneChanged):
        desk.take("r1", revision=4)
    assert desk.get("r1").state == "validated"


def test_a_denial_keeps_its_reason() -> None:
    desk = Desk()
    waiting(desk)
    denied = desk.deny("r1", "too many chairs")
    assert (denied.state, denied.reason, denied.record.user_confirmed) == ("denied", "too many chairs", False)
    with pytest.raises(OutOfTurn, match="has ended: it is denied"):
        desk.take("r1", revision=1)


def test_a_text_that_is_no_script_may_be_sent_twice_more() -> None:
    desk = Desk()
    desk.submit(request(raw="Sure!"), asks="panel")
    assert (desk.invalid("r1", "prose").attempts_left, desk.get("r1").state) == (2, "received")
    desk.resubmit("r1", CLIENT, "Here it is!")
    assert desk.invalid("r1", "prose").attempts_left == 1
    desk.resubmit("r1", CLIENT, "Well …")
    assert desk.invalid("r1", "prose").state == "rejected"
    with pytest.raises(OutOfTurn, match="it is rejected"):
        desk.resubmit("r1", CLIENT, "x = 1")


def test_nobody_sends_a_text_for_somebody_elses_request() -> None:
    desk = Desk()
    waiting(desk)
    with pytest.raises(InvalidParamsError, match="no request 'r1' of yours"):
        desk.resubmit("r1", "c2", "x = 1")
    with pytest.raises(InvalidParamsError, match="no request 'r9'"):
        desk.resubmit("r9", CLIENT, "x = 1")


def test_the_same_question_is_not_put_twice_while_it_is_open() -> None:
    desk = Desk()
    waiting(desk)
    assert desk.submit(request("r2"), asks="panel").id == "r1"
    desk.deny("r1")
    assert desk.submit(request("r3"), asks="panel").id == "r3"


def test_what_runs_unasked_is_never_taken_for_a_repetition() -> None:
    desk = Desk()
    for name in ("r1", "r2"):
        assert desk.submit(request(name, tool="execute_blender_code"), asks="nobody").id == name


def test_only_one_works_on_a_request() -> None:
    desk = Desk()
    assert desk.attach("r1")
    assert not desk.attach("r1")
    desk.detach("r1")
    assert desk.attach("r1")


def test_what_waits_too_long_expires() -> None:
    now = [0.0]
    desk = Desk(clock=lambda: now[0])
    waiting(desk)
    now[0] = 10.0
    desk.expire("nobody answered in time", older_than_s=11.0)
    assert desk.get("r1").state == "waiting"
    desk.expire("nobody answered in time", older_than_s=10.0)
    assert (desk.get("r1").state, desk.get("r1").reason) == ("expired", "nobody answered in time")


def test_a_running_script_is_neither_cancelled_nor_expired_on_paper() -> None:
    desk = Desk()
    agree(desk, waiting(desk))
    desk.take("r1", revision=1)
    desk.expire("the bridge was stopped")
    assert desk.cancel("r1").running
    with pytest.raises(OutOfTurn, match="is running"):
        desk.resubmit("r1", CLIENT, "x = 2")
    assert desk.failed("r1", "it raised").state == "failed"


@pytest.mark.parametrize(
    "step",
    [
        lambda desk: desk.deny("r1"),
        lambda desk: desk.reject("r1", "no"),
        lambda desk: desk.invalid("r1", "prose", attempts=3),
        lambda desk: desk.outdated("r1"),
    ],
)
def test_nothing_but_its_end_changes_a_script_that_runs(step: Callable[[Desk], Entry]) -> None:
    desk = Desk()
    agree(desk, waiting(desk))
    desk.take("r1", revision=1)
    with pytest.raises(OutOfTurn, match="the script of request r1 is running: only its end can change that"):
        step(desk)
    assert desk.applied("r1", {}).state == "applied"


def test_after_a_restart_what_waited_has_expired() -> None:
    desk, later = Desk(), Desk()
    entry = agree(desk, waiting(desk))
    later.recall([from_dict(to_dict(entry))], "Blender was closed before anybody answered")
    assert later.get("r1").state == "expired"
    with pytest.raises(OutOfTurn):
        later.take("r1", revision=1)


def test_what_cannot_be_kept_does_not_happen() -> None:
    def full(entry: Entry) -> None:
        if entry.state == "confirmed":
            raise OSError("no space left")

    desk = Desk(full)
    entry = waiting(desk)
    with pytest.raises(OSError, match="no space left"):
        agree(desk, entry)
    assert desk.get("r1").state == "waiting"
    with pytest.raises(OutOfTurn):
        desk.take("r1", revision=1)


def test_ended_requests_are_forgotten_open_ones_are_not() -> None:
    desk = Desk()
    waiting(desk, "open", raw="open")
    for number in range(KEEP_COUNT + 5):
        desk.submit(request(f"r{number}", raw=str(number)), asks="panel")
        desk.cancel(f"r{number}")
    desk.submit(request("last", raw="last"), asks="panel")
    assert desk.get("open").state == "waiting"
    assert len(desk.entries()) == KEEP_COUNT + 2
    assert desk.entries()[0].id == "last"


def test_listeners_hear_every_change_until_they_stop() -> None:
    desk, heard = Desk(), []
    stop = desk.listen(lambda entry: heard.append(entry.state))
    waiting(desk)
    stop()
    desk.deny("r1")
    assert heard == ["received", "extracted", "validated", "rehearsed", "waiting"]


class Reviews(RuleBasedStateMachine):
    """Users, clients, the scene and restarts in any order, beside a model that only remembers consents."""

    requests = Bundle("requests")

    def __init__(self) -> None:
        super().__init__()
        self.kept: dict[str, Entry] = {}
        self.desk = Desk(self._keep)
        self.revision = 0
        self.count = 0
        #: What the user said yes to and has not been used: request -> (script, revision).
        self.consents: dict[str, tuple[str, int]] = {}
        self.runs: list[str] = []

    def _keep(self, entry: Entry) -> None:
        self.kept[entry.id] = from_dict(to_dict(entry))

    def _try(self, step: Any, *arguments: Any, **named: Any) -> Entry | None:
        try:
            found: Entry | None = step(*arguments, **named)
        except PolicyError:
            return None
        return found

    @rule(target=requests, inject=st.booleans(), asks=st.sampled_from(["panel", "client", "nobody"]))
    def submit(self, inject: bool, asks: Any) -> str:
        self.count += 1
        name = f"r{self.count}"
        tool: Any = "inject_bpy_script" if inject else "execute_blender_code"
        entry = self._try(self.desk.submit, request(name, raw=name, tool=tool), asks=asks)
        assert (entry is None) == (inject and asks == "nobody")
        return name if entry else "none"

    @rule(name=requests, text=st.sampled_from(["a = 1", "b = 2"]))
    def edit(self, name: str, text: str) -> None:
        if name in self.kept and self._try(self.desk.resubmit, name, CLIENT, text):
            self.consents.pop(name, None)

    @rule(name=requests, text=st.sampled_from(["a = 1", "b = 2"]))
    def prepare(self, name: str, text: str) -> None:
        if name in self.kept:
            if self._try(self.desk.extracted, name, text):
                self._try(self.desk.validated, name, {})
            self._try(self.desk.rehearsed, name, {}, "", self.revision)
            self._try(self.desk.ask, name, revision=self.revision)

    @rule(name=requests)
    def not_valid(self, name: str) -> None:
        if name in self.kept:
            self._try(self.desk.invalid, name, "prose")

    @rule(name=requests, stale=st.booleans())
    def confirm(self, name: str, stale: bool) -> None:
        if name in self.kept:
            entry = self.desk.get(name)
            revision = -1 if entry.revision is None else entry.revision
            sha256 = digest("other") if stale else entry.sha256
            done = self._try(self.desk.confirm, name, sha256=sha256, revision=revision, by="the user")
            assert not (done and stale)
            if done:
                self.consents[name] = (done.script, revision)

    @rule(name=requests)
    def permit(self, name: str) -> None:
        if name in self.kept:
            entry = self._try(self.desk.permit, name, revision=self.revision)
            if entry:
                assert entry.request.tool == "execute_blender_code"
                assert entry.asks == "nobody"
                self.consents[name] = (entry.script, self.revision)

    @rule(name=requests, step=st.sampled_from(["deny", "cancel", "outdated"]))
    def turn_away(self, name: str, step: str) -> None:
        if name in self.kept:
            done = self._try(getattr(self.desk, step), name)
            if done and not done.running and done.state != "applied":
                self.consents.pop(name, None)

    @rule()
    def change_scene(self) -> None:
        self.revision += 1

    @rule()
    def expire(self) -> None:
        self.desk.expire("nobody answered")
        self.consents.clear()

    @rule()
    def restart(self) -> None:
        old, self.desk = dict(self.kept), Desk(self._keep)
        self.desk.recall(old.values(), "Blender was closed")
        self.consents.clear()

    @rule(name=requests)
    def run(self, name: str) -> None:
        if name not in self.kept:
            return
        entry = self._try(self.desk.take, name, revision=self.revision)
        consent = self.consents.pop(name, None)
        if entry:
            assert consent == (entry.script, self.revision), "it ran without a yes to exactly this"
            assert name not in self.runs, "it ran twice"
            self.runs.append(name)

    @rule(name=consumes(requests), well=st.booleans())
    def end_run(self, name: str, well: bool) -> None:
        if name in self.kept:
            done = self._try(self.desk.applied, name, {}) if well else self._try(self.desk.failed, name, "x")
            if done:
                self.consents.pop(name, None)
                assert not well or name in self.runs

    @invariant()
    def what_is_kept_is_what_is(self) -> None:
        for entry in self.desk.entries():
            assert self.kept[entry.id] == entry
            assert not (entry.running and entry.ended)


TestReviews = Reviews.TestCase
TestReviews.settings = settings(max_examples=300, stateful_step_count=40, deadline=None)
