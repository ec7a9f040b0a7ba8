# SPDX-License-Identifier: GPL-3.0-or-later
"""A script from a client's answer to the user's yes and into the scene, in both eras of the protocol."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import bpy
import fastjsonschema
import pytest
from bl_ext.user_default.mcp_bridge import approvals
from bl_ext.user_default.mcp_bridge.approvals import whom_to_ask
from bl_ext.user_default.mcp_bridge.approvals.approval_queue import ApprovalQueue
from bl_ext.user_default.mcp_bridge.approvals.request import Entry
from bl_ext.user_default.mcp_bridge.approvals.store import Store
from bl_ext.user_default.mcp_bridge.base import journal
from bl_ext.user_default.mcp_bridge.sandbox import confinement
from bl_ext.user_default.mcp_bridge.sandbox.confinement.supervisor import Unconfined
from bl_ext.user_default.mcp_bridge.sandbox.rehearsal import prepare, snapshot
from bl_ext.user_default.mcp_bridge.sandbox.rehearsal.pool import Child
from bl_ext.user_default.mcp_bridge.sandbox.run import execute
from bl_ext.user_default.mcp_bridge.scene import events
from bl_ext.user_default.mcp_bridge.server import bridge
from bl_ext.user_default.mcp_bridge.server.tools import inject
from bl_ext.user_default.mcp_bridge.server.tools.registry import make
from websockets.sync.client import connect

from support.clients.tool_calls import ToolError, Tools, on_worker
from support.confinement.rehearsing import rehearsals

CHAIR = (
    "Sure! Here is a simple chair:\n\n```python\nimport bpy\n"
    "bpy.ops.mesh.primitive_cube_add(size=1)\nbpy.context.object.name = 'Chair'\nresult = 'a chair'\n```\n"
)
PROSE = "First add a cube, then scale it down and call it a chair."
YES = {"action": "accept", "content": {"apply": True}}

_FITS = fastjsonschema.compile(make(inject.inject_bpy_script).output_schema)


@pytest.fixture(scope="module", autouse=True)
def _rehearsals(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with rehearsals(tmp_path_factory.mktemp("rehearsals"), outlive=True):
        yield


@pytest.fixture
def queue(tmp_path: Path, empty_scene: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[ApprovalQueue]:
    monkeypatch.setattr(journal, "_current", journal.Journal(tmp_path / "audit"))
    execute._rate.clear()
    approvals.close()
    yield approvals.open_queue(Store(tmp_path / "requests", lambda pid: False))
    approvals.close()


@pytest.fixture
def tools(queue: ApprovalQueue) -> Iterator[Tools]:
    started = Tools(elicitation={"form": {}})
    yield started
    started.stop()


def inject_script(tools: Tools, script: Any, **more: Any) -> dict[str, Any]:
    rounds = {name: more.pop(name) for name in ("inputResponses", "requestState") if name in more}
    answer = tools.raw("inject_bpy_script", {"script": script, **more}, **rounds)
    if answer.get("resultType") != "input_required":
        _FITS(answer["structuredContent"])
    return answer


def records() -> list[dict[str, Any]]:
    lines = journal.current().path.read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def events_of(queue: ApprovalQueue) -> list[str]:
    return [record["event"] for record in records()]


def the_key(asked: dict[str, Any]) -> str:
    [key] = asked["inputRequests"]
    return key


def test_a_chair_goes_through_to_a_confirmed_run(tools: Tools, queue: ApprovalQueue) -> None:
    asked = inject_script(tools, CHAIR, title="Simple chair")
    assert asked["resultType"] == "input_required"
    question = asked["inputRequests"][the_key(asked)]["params"]["message"]
    assert "Local stdio client wants to run “Simple chair” in the open scene." in question
    assert "+ Object 'Chair'" in question
    assert "mcp_bridge" not in question
    assert "bpy.context.object.name = 'Chair'" in question
    assert not bpy.data.objects
    [waiting] = queue.entries()
    assert waiting.state == "waiting"

    answer = inject_script(
        tools,
        CHAIR,
        title="Simple chair",
        inputResponses={the_key(asked): YES},
        requestState=asked["requestState"],
    )
    assert answer["structuredContent"].pop("rehearsal_seconds") > 0
    assert answer["structuredContent"] == {
        "status": "success",
        "result": "a chair",
        "stdout": "",
        "request_id": waiting.id,
    }
    assert [item.name for item in bpy.data.objects] == ["Chair"]
    [entry] = queue.entries()
    assert (entry.state, entry.record.user_confirmed) == ("applied", True)
    assert entry.applied_revision == events.settled()
    written = events_of(queue)
    assert written.index("request_confirmed") < written.index("execute_started")
    # The next rehearsal's process may get ready, and be recorded, at any time.
    assert [event for event in written if not event.startswith("process_")][-1] == "request_applied"


@pytest.mark.parametrize(
    "said",
    [
        {"action": "decline"},
        {"action": "accept"},
        {"action": "accept", "content": {"apply": False, "reason": "it has no back"}},
    ],
)
def test_every_answer_but_a_yes_is_a_no(tools: Tools, queue: ApprovalQueue, said: dict[str, Any]) -> None:
    asked = inject_script(tools, CHAIR)
    answer = inject_script(
        tools, CHAIR, inputResponses={the_key(asked): said}, requestState=asked["requestState"]
    )
    assert answer["isError"]
    message = answer["structuredContent"]["message"]
    if said["action"] == "decline":  # which nobody may have said
        assert message.startswith("The user said no in the client, or the client said it by itself")
    else:
        why = said.get("content", {}).get("reason", "the form came back without a tick at Apply")
        assert message == f"The user denied it: {why}"
    assert not bpy.data.objects
    assert queue.entries()[0].state == "denied"


def test_a_question_that_the_client_cancels_was_put_to_nobody(tools: Tools, queue: ApprovalQueue) -> None:
    asked = inject_script(tools, CHAIR)
    said = {"action": "cancel"}
    answer = inject_script(
        tools, CHAIR, inputResponses={the_key(asked): said}, requestState=asked["requestState"]
    )
    assert answer["isError"]
    message = answer["structuredContent"]["message"]
    assert message.startswith("Nobody could be asked: the client cancelled the question")
    assert "BLENDER_MCP_CONFIRM=panel" in message
    assert not bpy.data.objects
    assert queue.entries()[0].state == "cancelled"


def test_when_the_scene_changes_meanwhile_it_is_rehearsed_and_asked_again(
    tools: Tools, queue: ApprovalQueue
) -> None:
    asked = inject_script(tools, CHAIR)
    bpy.context.scene.collection.objects.link(bpy.data.objects.new("By the user", None))
    bpy.context.view_layer.update()
    again = inject_script(
        tools, CHAIR, inputResponses={the_key(asked): YES}, requestState=asked["requestState"]
    )
    assert again["resultType"] == "input_required"
    assert the_key(again) != the_key(asked)
    assert [item.name for item in bpy.data.objects] == ["By the user"]
    inject_script(tools, CHAIR, inputResponses={the_key(again): YES}, requestState=again["requestState"])
    assert {item.name for item in bpy.data.objects} == {"By the user", "Chair"}
    assert "the scene has changed: it has to be rehearsed again" in queue.entries()[0].record.logs


def test_an_answer_given_twice_runs_once(tools: Tools, queue: ApprovalQueue) -> None:
    asked = inject_script(tools, CHAIR)
    rounds = {"inputResponses": {the_key(asked): YES}, "requestState": asked["requestState"]}
    inject_script(tools, CHAIR, **rounds)
    second = inject_script(tools, CHAIR, **rounds)
    assert second["resultType"] == "input_required"
    assert [item.name for item in bpy.data.objects] == ["Chair"]


def test_prose_comes_back_with_the_template_twice(tools: Tools, queue: ApprovalQueue) -> None:
    first = inject_script(tools, PROSE)["structuredContent"]
    assert first["attempts_left"] == 2
    assert first["message"].startswith("the answer is prose, not a script")
    assert (
        f"Send a better script with request_id {first['request_id']!r}; that can be done twice more."
        in (first["message"])
    )
    assert "Answer with one Python file in one fenced code block" in first["message"]
    second = inject_script(tools, "import os\nos.remove('/important')", request_id=first["request_id"])
    found = second["structuredContent"]
    assert (found["attempts_left"], found["line"], found["errors"][0]["line"]) == (1, 2, 2)
    assert "os" in found["message"]
    last = inject_script(tools, PROSE, request_id=first["request_id"])["structuredContent"]
    assert last["attempts_left"] == 0
    assert last["message"].endswith("No attempts are left: tell the user what is wrong.")
    assert queue.get(first["request_id"]).state == "rejected"
    over = inject_script(tools, CHAIR, request_id=first["request_id"])["structuredContent"]
    assert over["message"].endswith("is rejected: leave request_id out for a new one")


def test_a_better_text_goes_on_with_the_same_request(tools: Tools, queue: ApprovalQueue) -> None:
    first = inject_script(tools, PROSE)["structuredContent"]
    asked = inject_script(tools, CHAIR, request_id=first["request_id"])
    rounds = {"inputResponses": {the_key(asked): YES}, "requestState": asked["requestState"]}
    done = inject_script(tools, CHAIR, request_id=first["request_id"], **rounds)["structuredContent"]
    assert (done["status"], done["request_id"]) == ("success", first["request_id"])


def test_the_clients_model_mends_what_is_no_script(tools: Tools, queue: ApprovalQueue) -> None:
    tools.capabilities = {"elicitation": {"form": {}}, "sampling": {}}
    asked = inject_script(tools, PROSE)
    assert the_key(asked) == "reformat-1"
    prompt = asked["inputRequests"]["reformat-1"]["params"]["messages"][0]["content"]["text"]
    assert PROSE in prompt
    assert "the answer is prose" in prompt
    mended = {"role": "assistant", "model": "m", "content": {"type": "text", "text": CHAIR}}
    question = inject_script(
        tools, PROSE, inputResponses={"reformat-1": mended}, requestState=asked["requestState"]
    )
    assert the_key(question).startswith("apply-")
    done = inject_script(
        tools, PROSE, inputResponses={the_key(question): YES}, requestState=question["requestState"]
    )
    assert done["structuredContent"]["result"] == "a chair"
    assert len(queue.entries()) == 1


def test_an_unknown_operator_is_refused_before_anything_runs(tools: Tools) -> None:
    found = inject_script(tools, "```python\nimport bpy\nbpy.ops.nonexistent.thing()\n```")[
        "structuredContent"
    ]
    assert found["errors"][0]["line"] == 2
    assert "nonexistent" in found["message"]


def test_what_fails_in_the_rehearsal_is_never_asked_about(tools: Tools, queue: ApprovalQueue) -> None:
    found = inject_script(tools, "import bpy\nbpy.data.objects['Nobody'].location.x = 1")
    assert found["isError"]
    assert (found["structuredContent"]["error"], found["structuredContent"]["line"]) == ("HandlerError", 2)
    entry = queue.entries()[0]
    assert entry.state == "failed"
    assert entry.record.sandbox_result
    assert entry.record.sandbox_result["error"]["cause"] == "KeyError"
    [kept] = [one for one in records() if "rehearsal" in one]
    assert (kept["event"], kept["rehearsal"]["outcome"]) == ("request_failed", "error")


def test_a_rejected_script_leaves_its_validation(tools: Tools, queue: ApprovalQueue) -> None:
    inject_script(tools, "import os\nos.remove('/important')")
    [kept] = [one for one in records() if "validation" in one]
    assert kept["validation"]["errors"][0]["line"] == 2
    assert queue.entries()[0].validation == kept["validation"]


@pytest.mark.parametrize("mode", ["contextual", "format-to-bpy"])
def test_the_specifications_name_of_the_script_is_taken(tools: Tools, mode: str) -> None:
    script = "import bpy\nbpy.ops.mesh.primitive_cube_add()"
    asked = tools.raw("inject_bpy_script", {"mode": mode, "script_or_text": script})
    assert script in asked["inputRequests"][the_key(asked)]["params"]["message"]
    both = tools.raw("inject_bpy_script", {"script": script, "script_or_text": script})
    assert both["structuredContent"]["error"] == "InvalidParamsError"


def test_a_question_about_what_was_not_rehearsed_says_what_will_happen(
    tools: Tools, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BLENDER_MCP_REHEARSE", "never")
    script = "import bpy\nimport math\nbpy.ops.mesh.primitive_cube_add(size=math.pi)"
    asked = tools.raw("execute_blender_code", {"code": script, "title": "A cube"})
    question = asked["inputRequests"][the_key(asked)]["params"]["message"]
    for part in (
        "This was not rehearsed: the settings say so.",
        "If you agree, it runs in the open scene at once, as one undo step and for at most 10 s.",
        "If it fails or takes longer, everything is as before. What it changes is not known beforehand.",
        "It calls bpy.ops.mesh.primitive_cube_add.",
        "It imports bpy, math.",
    ):
        assert part in question


@pytest.fixture
def _unconfined(monkeypatch: pytest.MonkeyPatch) -> None:
    def none() -> None:
        raise Unconfined("no means of confinement works here")

    monkeypatch.setattr(confinement.current(), "means", none)


@pytest.mark.usefixtures("_unconfined")
def test_without_confinement_there_is_no_run_and_it_says_why(tools: Tools, queue: ApprovalQueue) -> None:
    found = inject_script(tools, CHAIR)["structuredContent"]
    assert found["message"] == (
        "the script cannot be rehearsed, so it may not run in the open scene: no means of confinement works here"
    )
    entry = queue.entries()[0]
    assert (entry.state, entry.reason) == (
        "rejected",
        "it cannot be rehearsed: no means of confinement works here",
    )


@pytest.mark.usefixtures("_unconfined")
def test_where_every_script_has_to_be_rehearsed_none_runs_without_confinement(
    tools: Tools, queue: ApprovalQueue, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BLENDER_MCP_REHEARSE", "always")
    with pytest.raises(
        ToolError, match="cannot be rehearsed, so it may not run in the open scene: no means of"
    ):
        tools("execute_blender_code", code="result = 1")
    assert [entry.state for entry in queue.entries()] == ["rejected"]


def test_a_large_scene_is_opened_for_the_next_rehearsal_after_each_run(
    tools: Tools, queue: ApprovalQueue, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next rehearsal need not open it: the script reads the path of an earlier copy, with the same scene."""
    copied: list[str] = []
    opened: list[str] = []
    take, open_ahead = snapshot.take, Child.open_ahead

    def noted_copy(folder: Path) -> snapshot.Snapshot:
        found = take(folder)
        copied.append(found.path.name)
        return found

    def noted(self: Child, copy: snapshot.Snapshot, seconds: float) -> None:
        open_ahead(self, copy, seconds)
        opened.append(copy.path.name)

    monkeypatch.setenv("BLENDER_MCP_REHEARSE", "always")
    monkeypatch.setenv("BLENDER_MCP_CONFIRM", "auto")
    monkeypatch.setattr(prepare, "_LARGE_MB", 0)
    monkeypatch.setattr(snapshot, "take", noted_copy)
    monkeypatch.setattr(Child, "open_ahead", noted)
    script = "import bpy\nbpy.ops.mesh.primitive_cube_add()\nresult = bpy.data.filepath.split('/')[-1]"
    after_the_last_run = ""
    for number in (1, 2, 3):
        assert tools("execute_blender_code", code=script)["status"] == "success"
        report = queue.entries()[0].record.sandbox_result
        assert report
        assert report["result"] == (after_the_last_run or copied[0])
        pumped(lambda: opened[-1:] == copied[-1:])
        assert len(copied) == 2 * number == 2 * len(bpy.data.objects)
        after_the_last_run = copied[-1]
    monkeypatch.setenv("BLENDER_MCP_REHEARSE", "never")
    assert tools("execute_blender_code", code=script)["status"] == "success"
    assert tools("get_scene_info")
    assert len(copied) == 6, "a script that was not rehearsed has the scene copied"


def test_a_setting_that_asks_nobody_still_asks_about_an_injected_script(
    tools: Tools, queue: ApprovalQueue, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BLENDER_MCP_CONFIRM", "auto")
    queue.trust("local", "Local stdio client")
    assert inject_script(tools, CHAIR)["resultType"] == "input_required"
    tools.capabilities = {}
    assert "does not offer elicitation" in inject_script(tools, CHAIR)["structuredContent"]["message"]
    assert not bpy.data.objects


def test_in_the_panel_the_assistant_waits_and_the_yes_runs_it(
    tools: Tools, queue: ApprovalQueue, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(whom_to_ask, "has_window", lambda: True)
    pending = inject_script(tools, CHAIR, wait_seconds=0)["structuredContent"]
    assert pending["status"] == "pending"
    assert "decides in Blender's MCP panel under Requests" in pending["message"]
    request_id = pending["request_id"]
    entry = pumped(lambda: queue.get(request_id).state == "waiting" and queue.get(request_id))
    repeated = inject_script(tools, CHAIR, wait_seconds=0)["structuredContent"]
    assert (repeated["status"], repeated["request_id"]) == ("pending", request_id)
    queue.confirm(request_id, sha256=entry.sha256, revision=entry.revision, by="the user in the panel")
    job = tools("get_job", job_id=request_id, wait_seconds=20)
    assert (job["state"], job["result"]["result"]) == ("completed", "a chair")
    assert [item.name for item in bpy.data.objects] == ["Chair"]


def test_in_the_panel_a_no_and_its_reason_reach_the_assistant(
    tools: Tools, queue: ApprovalQueue, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(whom_to_ask, "has_window", lambda: True)
    request_id = inject_script(tools, CHAIR, wait_seconds=0)["structuredContent"]["request_id"]
    pumped(lambda: queue.get(request_id).state == "waiting")
    queue.deny(request_id, "not today")
    job = tools("get_job", job_id=request_id, wait_seconds=20)
    assert job["result"]["message"] == "The user denied it: not today"


def test_a_client_takes_its_request_back(
    tools: Tools, queue: ApprovalQueue, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(whom_to_ask, "has_window", lambda: True)
    request_id = inject_script(tools, CHAIR, wait_seconds=0)["structuredContent"]["request_id"]
    pumped(lambda: queue.get(request_id).state == "waiting")
    assert tools("cancel_job", job_id=request_id)["state"] == "cancelled"
    pumped(lambda: queue.get(request_id).state == "cancelled")


def test_stopping_the_bridge_expires_what_waits(
    tools: Tools, queue: ApprovalQueue, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(whom_to_ask, "has_window", lambda: True)
    request_id = inject_script(tools, CHAIR, wait_seconds=0)["structuredContent"]["request_id"]
    pumped(lambda: queue.get(request_id).state == "waiting")
    bridge.stop()
    assert (queue.get(request_id).state, queue.get(request_id).reason) == (
        "expired",
        "MCP Bridge was stopped before anybody answered",
    )


def pumped(condition: Callable[[], Any], seconds: float = 60.0) -> Any:
    """What `condition` gives once it is true, while this thread does Blender's work."""
    found: list[Any] = []

    def wait() -> None:
        until = time.monotonic() + seconds
        while not (value := condition()):
            assert time.monotonic() < until, "it did not happen in time"
            time.sleep(0.01)
        found.append(value)

    on_worker(wait)
    return found[0]


class HandshakeClient:
    """A client of 2025-11-25 over a WebSocket, which answers what it is asked by `answers`, a method's own."""

    def __init__(self, url: str, token: str, answers: dict[str, Any]) -> None:
        self._socket = connect(f"{url}?token={token}", subprotocols=["mcp"]).__enter__()  # type: ignore[list-item]
        self._answers = answers
        self.asked: list[dict[str, Any]] = []
        capabilities = {method.partition("/")[0]: {} for method in answers}
        info = {"name": "test", "version": "1"}
        self.request(
            "initialize", {"protocolVersion": "2025-11-25", "capabilities": capabilities, "clientInfo": info}
        )
        self._send({"method": "notifications/initialized"})

    def request(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        self._send({"id": 1, "method": method, "params": params})
        while True:
            message = json.loads(self._socket.recv(timeout=60))
            if message.get("method") in self._answers:
                self.asked.append(message)
                self._send({"id": message["id"], "result": self._answers[message["method"]]})
            elif message.get("id") == 1:
                return message["result"]

    def close(self) -> None:
        self._socket.close()

    def _send(self, message: dict[str, Any]) -> None:
        self._socket.send(json.dumps({"jsonrpc": "2.0", **message}))


def test_in_the_handshake_era_the_client_is_asked_while_it_waits(tools: Tools, queue: ApprovalQueue) -> None:
    running = bridge.current()
    assert running

    def call() -> tuple[dict[str, Any], list[dict[str, Any]]]:
        client = HandshakeClient(running.websocket_url, running.token, {"elicitation/create": YES})
        params = {"name": "inject_bpy_script", "arguments": {"script": CHAIR, "title": "Simple chair"}}
        try:
            return client.request("tools/call", params), client.asked
        finally:
            client.close()

    answer, asked = on_worker(call)
    _FITS(answer["structuredContent"])
    assert answer["structuredContent"]["result"] == "a chair"
    assert len(asked) == 1
    assert "+ Object 'Chair'" in asked[0]["params"]["message"]


def test_a_client_that_hangs_up_while_it_is_asked_takes_its_request_along(
    tools: Tools, queue: ApprovalQueue
) -> None:
    running = bridge.current()
    assert running
    gone = threading.Event()

    def call() -> None:
        client = HandshakeClient(running.websocket_url, running.token, {"elicitation/create": YES})
        client._answers = {}
        params = {"name": "inject_bpy_script", "arguments": {"script": CHAIR}}
        client._send({"id": 1, "method": "tools/call", "params": params})
        while json.loads(client._socket.recv(timeout=60)).get("method") != "elicitation/create":
            pass
        client.close()
        gone.set()

    on_worker(call)
    assert gone.is_set()

    def ended() -> Entry | None:
        entry = queue.entries()[0]
        return entry if entry.ended else None

    assert pumped(ended).state == "cancelled"
    assert not bpy.data.objects
