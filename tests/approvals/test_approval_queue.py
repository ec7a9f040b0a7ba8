# SPDX-License-Identifier: GPL-3.0-or-later
"""Whatever the order of steps, nothing runs without a yes to exactly it, and nothing runs twice."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from bl_ext.user_default.mcp_bridge.approvals.approval_queue import ApprovalQueue
from bl_ext.user_default.mcp_bridge.approvals.request import (
    Entry,
    InjectScriptRequest,
    OutOfTurn,
    SceneChanged,
    digest,
    from_dict,
    to_dict,
)
from bl_ext.user_default.mcp_bridge.approvals.request_list import KEEP_COUNT, MOST_OPEN
from bl_ext.user_default.mcp_bridge.base.errors import InvalidParamsError, PolicyError
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, rule

CLIENT = "c1"


def request(name: str = "r1", raw: str = "x = 1", **more: Any) -> InjectScriptRequest:
    return InjectScriptRequest(name, "Cursor", "format-to-bpy", raw, 0.0, client_id=CLIENT, **more)


def waiting(queue: ApprovalQueue, name: str = "r1", *, revision: int = 1, **more: Any) -> Entry:
    """A request that was rehearsed at `revision` and is before the user."""
    queue.submit(request(name, **more), asks="panel")
    queue.store_script(name, "x = 1\n")
    queue.store_validation(name, {"is_valid": True})
    queue.store_rehearsal(name, {"outcome": "success"}, "Nothing in the scene would change.", revision)
    return queue.ask(name, revision=revision)


def agree(queue: ApprovalQueue, entry: Entry) -> Entry:
    assert entry.revision is not None
    return queue.confirm(entry.id, sha256=entry.sha256, revision=entry.revision, by="the user in the panel")


def test_the_whole_way_is_recorded() -> None:
    queue = ApprovalQueue()
    agree(queue, waiting(queue))
    taken = queue.take("r1", revision=1)
    assert (taken.script, taken.running) == ("x = 1\n", True)
    done = queue.store_result("r1", {"status": "success"})
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
    queue = ApprovalQueue()
    agree(queue, waiting(queue))
    queue.take("r1", revision=1)
    with pytest.raises(OutOfTurn, match="nobody has approved it"):
        queue.take("r1", revision=1)


DIFFERENCE = {"added": [{"kind": "objects", "name": "Chair"}]}


def changed_meanwhile(queue: ApprovalQueue, difference: object, *, agreed: bool = True) -> Entry:
    """A request that was rehearsed again at revision 2, with this difference; it was agreed to at revision 1."""
    queue.submit(request(), asks="panel")
    queue.store_script("r1", "x = 1\n")
    queue.store_validation("r1", {"is_valid": True})
    queue.store_rehearsal("r1", {"difference": DIFFERENCE}, "", 1)
    entry = queue.ask("r1", revision=1)
    if agreed:
        agree(queue, entry)
        with pytest.raises(SceneChanged):
            queue.take("r1", revision=2)
    else:
        queue.send_back("r1")
    return queue.store_rehearsal("r1", {"difference": difference}, "", 2)


def test_a_yes_stands_where_the_same_comes_out_in_the_scene_as_it_is_now() -> None:
    queue = ApprovalQueue()
    changed_meanwhile(queue, dict(DIFFERENCE))
    entry = queue.uphold("r1")
    assert (entry.state, entry.record.logs[-1]) == ("confirmed", "confirmed by the user in the panel")
    assert queue.take("r1", revision=2).running
    assert from_dict(to_dict(entry)) == entry


@pytest.mark.parametrize(
    ("difference", "agreed", "why"),
    [
        ({"added": []}, True, "has another result now than the one that was approved"),
        (None, True, "has another result now than the one that was approved"),
        (DIFFERENCE, False, "has no earlier approval that could still count"),
    ],
)
def test_no_yes_stands_that_was_not_given_to_what_comes_out(
    difference: object, agreed: bool, why: str
) -> None:
    queue = ApprovalQueue()
    changed_meanwhile(queue, difference, agreed=agreed)
    with pytest.raises(OutOfTurn, match=why):
        queue.uphold("r1")
    with pytest.raises(OutOfTurn, match="nobody has approved it"):
        queue.take("r1", revision=2)


def test_another_text_has_no_yes_of_before() -> None:
    queue = ApprovalQueue()
    changed_meanwhile(queue, DIFFERENCE)
    queue.ask("r1", revision=2)
    queue.resubmit("r1", CLIENT, "x = 2")
    queue.store_script("r1", "x = 1\n")
    queue.store_validation("r1", {})
    queue.store_rehearsal("r1", {"difference": DIFFERENCE}, "", 2)
    with pytest.raises(OutOfTurn, match="has no earlier approval that could still count"):
        queue.uphold("r1")


def test_a_yes_to_what_was_shown_is_no_yes_to_what_came_after() -> None:
    queue = ApprovalQueue()
    shown = waiting(queue)
    queue.resubmit("r1", CLIENT, "x = 2")
    queue.store_script("r1", "x = 2\n")
    queue.store_validation("r1", {})
    queue.store_rehearsal("r1", {}, "", 1)
    queue.ask("r1", revision=1)
    with pytest.raises(OutOfTurn, match="has changed since it was shown"):
        agree(queue, shown)
    assert queue.get("r1").state == "waiting"


def test_a_changed_script_needs_a_new_yes() -> None:
    queue = ApprovalQueue()
    agree(queue, waiting(queue))
    queue.resubmit("r1", CLIENT, "x = 2")
    with pytest.raises(OutOfTurn, match="nobody has approved it"):
        queue.take("r1", revision=1)


def test_a_changed_scene_is_rehearsed_and_asked_about_again() -> None:
    queue = ApprovalQueue()
    agree(queue, waiting(queue))
    with pytest.raises(SceneChanged, match="the scene changed"):
        queue.take("r1", revision=2)
    again = queue.get("r1")
    assert (again.state, again.approval, again.revision) == ("validated", None, None)
    with pytest.raises(OutOfTurn):
        queue.take("r1", revision=1)


def test_what_was_estimated_to_make_too_much_is_rehearsed_before_it_runs_again() -> None:
    queue = ApprovalQueue()
    queue.submit(request(tool="execute_blender_code"), asks="nobody")
    queue.store_script("r1", "x = 1")
    queue.store_validation("r1", {})
    queue.permit("r1", revision=1)
    with pytest.raises(OutOfTurn, match="cannot be postponed"):
        queue.postpone("r1", "too many")
    queue.take("r1", revision=1)
    again = queue.postpone("r1", "too many")
    assert (again.state, again.running, again.approval, again.closer) == (
        "validated",
        False,
        None,
        "too many",
    )
    with pytest.raises(OutOfTurn, match="has to be rehearsed first: too many"):
        queue.permit("r1", revision=1)
    with pytest.raises(OutOfTurn, match="has to be rehearsed first"):
        queue.ask("r1", revision=1)
    queue.store_rehearsal("r1", {"growth": {}}, "", 1)
    queue.permit("r1", revision=1)
    queue.take("r1", revision=1)
    with pytest.raises(OutOfTurn, match="cannot be postponed"):
        queue.postpone("r1", "too many")


def test_an_injected_script_is_never_applied_unasked_nor_unrehearsed() -> None:
    queue = ApprovalQueue()
    with pytest.raises(PolicyError, match="never applied without an explicit approval"):
        queue.submit(request(), asks="nobody")
    queue.trust(CLIENT, "Cursor")
    queue.submit(request(), asks="panel")
    queue.store_script("r1", "x = 1")
    queue.store_validation("r1", {})
    with pytest.raises(OutOfTurn, match="has to be rehearsed first"):
        queue.ask("r1", revision=1)
    with pytest.raises(OutOfTurn, match="may not run without a question"):
        queue.permit("r1", revision=1)


def test_who_is_asked_cannot_be_got_round_by_permitting() -> None:
    queue = ApprovalQueue()
    entry = waiting(queue, tool="execute_blender_code")
    with pytest.raises(OutOfTurn, match="may not run without a question"):
        queue.permit(entry.id, revision=1)


def test_a_revoked_client_runs_nothing_and_asks_nothing_any_more() -> None:
    queue = ApprovalQueue()
    queue.trust(CLIENT, "Cursor")
    agree(queue, waiting(queue))
    queue.revoke(CLIENT)
    assert (queue.get("r1").state, queue.get("r1").reason, queue.trusted) == (
        "cancelled",
        "the client was revoked",
        {},
    )
    with pytest.raises(OutOfTurn):
        queue.take("r1", revision=1)
    with pytest.raises(PolicyError, match="this client was revoked"):
        queue.submit(request("r2"), asks="panel")


def test_a_client_may_have_a_limited_number_of_open_requests() -> None:
    queue = ApprovalQueue()
    for number in range(MOST_OPEN):
        queue.submit(request(f"r{number}", raw=f"x = {number}"), asks="panel")
        queue.store_script(f"r{number}", f"x = {number}")
    with pytest.raises(PolicyError, match="32 requests of yours are open, which is the limit"):
        queue.submit(request("one more", raw="y = 1"), asks="panel")
    other = InjectScriptRequest("other", "Zed", "contextual", "y = 1", 0.0, client_id="c2")
    assert queue.submit(other, asks="panel").state == "received"
    queue.cancel("r0")
    queue.submit(request("one more", raw="y = 1"), asks="panel")
    queue.submit(request("yet another", raw="z = 1"), asks="panel")
    assert queue.get("one more").reason == "newer requests came instead"


def test_a_question_needs_a_yes_and_no_rehearsal() -> None:
    queue = ApprovalQueue()
    with pytest.raises(PolicyError, match="explicit approval"):
        queue.submit(request(tool="question"), asks="nobody")
    queue.submit(request(raw="Overwrite a.png?", tool="question"), asks="panel")
    queue.store_script("r1", "Overwrite a.png?")
    queue.store_validation("r1", {})
    entry = queue.ask("r1", revision=0, unrehearsed="Overwrite a.png?")
    with pytest.raises(OutOfTurn, match="nobody has approved it"):
        queue.take("r1", revision=0)
    agree(queue, entry)
    assert queue.take("r1", revision=0).running


def test_an_attempt_to_reach_outside_blender_stays_on_the_request() -> None:
    queue = ApprovalQueue()
    queue.submit(request(raw="import os"), asks="panel")
    entry = queue.store_script("r1", "import os, socket")
    assert (entry.alert, entry.record.logs[-1]) == ("os, socket", "script found; it tries to use os, socket")
    queue.refuse_text("r1", "'os' cannot be imported")
    queue.resubmit("r1", CLIENT, "x = 1")
    assert queue.store_script("r1", "x = 1").alert == "os, socket"


def test_only_what_ran_is_undone_and_once() -> None:
    queue = ApprovalQueue()
    agree(queue, waiting(queue))
    with pytest.raises(OutOfTurn, match="cannot be undone"):
        queue.note_undo("r1")
    queue.take("r1", revision=1)
    assert queue.store_result("r1", {}, revision=5).applied_revision == 5
    undone = queue.note_undo("r1")
    assert (undone.state, undone.undone, undone.record.logs[-1]) == ("applied", True, "undone by the user")
    with pytest.raises(OutOfTurn, match="cannot be undone"):
        queue.note_undo("r1")
    later = ApprovalQueue()
    later.recall([from_dict(to_dict(undone))], "closed")
    assert later.get("r1").applied_revision is None


def test_what_nobody_is_asked_about_but_was_rehearsed_runs_in_that_scene() -> None:
    queue = ApprovalQueue()
    queue.submit(request(tool="execute_blender_code"), asks="nobody")
    queue.store_script("r1", "x = 1")
    queue.store_validation("r1", {})
    queue.store_rehearsal("r1", {}, "", 3)
    queue.permit("r1", revision=4)
    with pytest.raises(SceneChanged):
        queue.take("r1", revision=4)
    assert queue.get("r1").state == "validated"


def test_a_denial_keeps_its_reason() -> None:
    queue = ApprovalQueue()
    waiting(queue)
    denied = queue.deny("r1", "too many chairs")
    assert (denied.state, denied.reason, denied.record.user_confirmed) == ("denied", "too many chairs", False)
    with pytest.raises(OutOfTurn, match="has ended: it is denied"):
        queue.take("r1", revision=1)


def test_a_text_that_is_no_script_may_be_sent_twice_more() -> None:
    queue = ApprovalQueue()
    queue.submit(request(raw="Sure!"), asks="panel")
    assert (queue.refuse_text("r1", "prose").attempts_left, queue.get("r1").state) == (2, "received")
    queue.resubmit("r1", CLIENT, "Here it is!")
    assert queue.refuse_text("r1", "prose").attempts_left == 1
    queue.resubmit("r1", CLIENT, "Well …")
    assert queue.refuse_text("r1", "prose").state == "rejected"
    with pytest.raises(OutOfTurn, match="it is rejected"):
        queue.resubmit("r1", CLIENT, "x = 1")


def test_nobody_sends_a_text_for_somebody_elses_request() -> None:
    queue = ApprovalQueue()
    waiting(queue)
    with pytest.raises(InvalidParamsError, match="no request 'r1' of yours"):
        queue.resubmit("r1", "c2", "x = 1")
    with pytest.raises(InvalidParamsError, match="no request 'r9'"):
        queue.resubmit("r9", CLIENT, "x = 1")


def test_the_same_question_is_not_put_twice_while_it_is_open() -> None:
    queue = ApprovalQueue()
    waiting(queue)
    assert queue.submit(request("r2"), asks="panel").id == "r1"
    queue.deny("r1")
    assert queue.submit(request("r3"), asks="panel").id == "r3"


def test_what_runs_unasked_is_never_taken_for_a_repetition() -> None:
    queue = ApprovalQueue()
    for name in ("r1", "r2"):
        assert queue.submit(request(name, tool="execute_blender_code"), asks="nobody").id == name


def test_only_one_works_on_a_request() -> None:
    queue = ApprovalQueue()
    assert queue.attach("r1")
    assert not queue.attach("r1")
    queue.detach("r1")
    assert queue.attach("r1")


def test_requests_that_wait_too_long_expire() -> None:
    now = [0.0]
    queue = ApprovalQueue(clock=lambda: now[0])
    waiting(queue)
    now[0] = 10.0
    queue.expire("nobody answered in time", older_than_s=11.0)
    assert queue.get("r1").state == "waiting"
    queue.expire("nobody answered in time", older_than_s=10.0)
    assert (queue.get("r1").state, queue.get("r1").reason) == ("expired", "nobody answered in time")


def test_a_running_script_is_neither_cancelled_nor_expired_on_paper() -> None:
    queue = ApprovalQueue()
    agree(queue, waiting(queue))
    queue.take("r1", revision=1)
    queue.expire("the bridge was stopped")
    assert queue.cancel("r1").running
    with pytest.raises(OutOfTurn, match="is running"):
        queue.resubmit("r1", CLIENT, "x = 2")
    assert queue.fail("r1", "it raised").state == "failed"


@pytest.mark.parametrize(
    "step",
    [
        lambda queue: queue.deny("r1"),
        lambda queue: queue.reject("r1", "no"),
        lambda queue: queue.refuse_text("r1", "prose", attempts=3),
        lambda queue: queue.send_back("r1"),
    ],
)
def test_nothing_but_its_end_changes_a_script_that_runs(step: Callable[[ApprovalQueue], Entry]) -> None:
    queue = ApprovalQueue()
    agree(queue, waiting(queue))
    queue.take("r1", revision=1)
    with pytest.raises(OutOfTurn, match="the script of request r1 is running: only its end can change that"):
        step(queue)
    assert queue.store_result("r1", {}).state == "applied"


def test_after_a_restart_what_waited_has_expired() -> None:
    queue, later = ApprovalQueue(), ApprovalQueue()
    entry = agree(queue, waiting(queue))
    later.recall([from_dict(to_dict(entry))], "Blender was closed before anybody answered")
    assert later.get("r1").state == "expired"
    with pytest.raises(OutOfTurn):
        later.take("r1", revision=1)


def test_a_step_that_cannot_be_stored_does_not_happen() -> None:
    def full(entry: Entry) -> None:
        if entry.state == "confirmed":
            raise OSError("no space left")

    queue = ApprovalQueue(full)
    entry = waiting(queue)
    with pytest.raises(OSError, match="no space left"):
        agree(queue, entry)
    assert queue.get("r1").state == "waiting"
    with pytest.raises(OutOfTurn):
        queue.take("r1", revision=1)


def test_ended_requests_are_forgotten_open_ones_are_not() -> None:
    queue = ApprovalQueue()
    waiting(queue, "open", raw="open")
    for number in range(KEEP_COUNT + 5):
        queue.submit(request(f"r{number}", raw=str(number)), asks="panel")
        queue.cancel(f"r{number}")
    queue.submit(request("last", raw="last"), asks="panel")
    assert queue.get("open").state == "waiting"
    assert len(queue.entries()) == KEEP_COUNT + 2
    assert queue.entries()[0].id == "last"


def test_listeners_hear_every_change_until_they_stop() -> None:
    queue, heard = ApprovalQueue(), []
    stop = queue.listen(lambda entry: heard.append(entry.state))
    waiting(queue)
    stop()
    queue.deny("r1")
    assert heard == ["received", "extracted", "validated", "rehearsed", "waiting"]


class Reviews(RuleBasedStateMachine):
    """Users, clients, the scene and restarts in any order, beside a model that only remembers consents."""

    requests = Bundle("requests")

    def __init__(self) -> None:
        super().__init__()
        self.kept: dict[str, Entry] = {}
        self.queue = ApprovalQueue(self._keep)
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
        entry = self._try(self.queue.submit, request(name, raw=name, tool=tool), asks=asks)
        assert (entry is None) == (inject and asks == "nobody")
        return name if entry else "none"

    @rule(name=requests, text=st.sampled_from(["a = 1", "b = 2"]))
    def edit(self, name: str, text: str) -> None:
        if name in self.kept and self._try(self.queue.resubmit, name, CLIENT, text):
            self.consents.pop(name, None)

    @rule(name=requests, text=st.sampled_from(["a = 1", "b = 2"]))
    def prepare(self, name: str, text: str) -> None:
        if name in self.kept:
            if self._try(self.queue.store_script, name, text):
                self._try(self.queue.store_validation, name, {})
            self._try(self.queue.store_rehearsal, name, {}, "", self.revision)
            self._try(self.queue.ask, name, revision=self.revision)

    @rule(name=requests)
    def not_valid(self, name: str) -> None:
        if name in self.kept:
            self._try(self.queue.refuse_text, name, "prose")

    @rule(name=requests, stale=st.booleans())
    def confirm(self, name: str, stale: bool) -> None:
        if name in self.kept:
            entry = self.queue.get(name)
            revision = -1 if entry.revision is None else entry.revision
            sha256 = digest("other") if stale else entry.sha256
            done = self._try(self.queue.confirm, name, sha256=sha256, revision=revision, by="the user")
            assert not (done and stale)
            if done:
                self.consents[name] = (done.script, revision)

    @rule(name=requests)
    def permit(self, name: str) -> None:
        if name in self.kept:
            entry = self._try(self.queue.permit, name, revision=self.revision)
            if entry:
                assert entry.request.tool == "execute_blender_code"
                assert entry.asks == "nobody"
                self.consents[name] = (entry.script, self.revision)

    @rule(name=requests, step=st.sampled_from(["deny", "cancel", "send_back"]))
    def turn_away(self, name: str, step: str) -> None:
        if name in self.kept:
            done = self._try(getattr(self.queue, step), name)
            if done and not done.running and done.state != "applied":
                self.consents.pop(name, None)

    @rule()
    def change_scene(self) -> None:
        self.revision += 1

    @rule()
    def expire(self) -> None:
        self.queue.expire("nobody answered")
        self.consents.clear()

    @rule()
    def restart(self) -> None:
        old, self.queue = dict(self.kept), ApprovalQueue(self._keep)
        self.queue.recall(old.values(), "Blender was closed")
        self.consents.clear()

    @rule(name=requests)
    def run(self, name: str) -> None:
        if name not in self.kept:
            return
        entry = self._try(self.queue.take, name, revision=self.revision)
        consent = self.consents.pop(name, None)
        if entry:
            assert consent == (entry.script, self.revision), "it ran without a yes to exactly this"
            assert name not in self.runs, "it ran twice"
            self.runs.append(name)

    @rule(name=consumes(requests), well=st.booleans())
    def end_run(self, name: str, well: bool) -> None:
        if name in self.kept:
            done = (
                self._try(self.queue.store_result, name, {})
                if well
                else self._try(self.queue.fail, name, "x")
            )
            if done:
                self.consents.pop(name, None)
                assert not well or name in self.runs

    @invariant()
    def what_is_kept_is_what_is(self) -> None:
        for entry in self.queue.entries():
            assert self.kept[entry.id] == entry
            assert not (entry.running and entry.ended)


TestReviews = Reviews.TestCase
TestReviews.settings = settings(max_examples=300, stateful_step_count=40, deadline=None)
