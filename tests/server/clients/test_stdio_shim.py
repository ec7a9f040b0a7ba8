# SPDX-License-Identifier: GPL-3.0-or-later
"""The stdio shim as a real process, alone in a folder, between a real client's pipe and a bridge that we script."""

import contextlib
import json
import os
import shutil
import socket
import struct
import sys
import threading
import time
from itertools import pairwise
from pathlib import Path

import pytest
from bl_ext.user_default.mcp_bridge.server.clients import stdio_shim

from support.bridges.live import until
from support.bridges.scripted_bridge import ScriptedBridge, ShimClient

OFFLINE = {
    "initialize": {
        "protocolVersion": "2025-11-25",
        "capabilities": {"tools": {"listChanged": True}},
        "serverInfo": {"name": "recorded", "version": "0"},
    },
    "discover": {
        "supportedVersions": ["2026-07-28"],
        "capabilities": {},
        "resultType": "complete",
        "ttlMs": 60000,
    },
    "tools": [
        {"name": "get_scene_info", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": True}},
        {"name": "execute_blender_code", "inputSchema": {"type": "object"}},
    ],
}
MODERN = {"_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}}
MAYBE = "It may or may not have been applied: look at the scene before you repeat it."


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "run"


@pytest.fixture
def shim(tmp_path):
    """The shim and its list, alone in a folder: it must need nothing else."""
    alone = tmp_path / "alone"
    alone.mkdir()
    shutil.copy(stdio_shim.__file__, alone / "stdio_shim.py")
    (alone / "offline.json").write_text(json.dumps(OFFLINE))
    return alone / "stdio_shim.py"


@pytest.fixture
def start(shim, folder, tmp_path):
    clients = []

    def start(*arguments, **environ):
        names = {"XDG_RUNTIME_DIR": str(folder), "XDG_STATE_HOME": str(tmp_path / "state")}
        client = ShimClient(shim, *arguments, environ={**names, "BLENDER_RETRY_BACKOFF": "0.05", **environ})
        clients.append(client)
        return client

    yield start
    for client in clients:
        client.__exit__()


@pytest.fixture
def bridge(folder):
    with ScriptedBridge() as bridge:
        bridge.announce(folder)
        yield bridge


def call(client, key, name, **arguments):
    client.request(key, "tools/call", {"name": name, "arguments": arguments})


# --- passing through ---


def test_messages_pass_unchanged_both_ways(start, bridge):
    client = start()
    assert client.initialize()["serverInfo"]["name"] == "scripted"
    assert bridge.next("initialize")["params"]["capabilities"] == {"x": 1}
    bridge.next("notifications/initialized")
    line = '{"id" : 7,"jsonrpc":"2.0", "method":"tools/call","params":{"name":"né\\u00e9 🧊","z":1e400}}'
    client.write(line.encode())
    assert bridge.next("tools/call")["params"]["name"] == "néé 🧊"
    answer = b'{"result" :{"content":[], "x":1.50},"id":7,"jsonrpc":"2.0"}'
    bridge.connection.send(answer.decode())
    assert client.line() == answer
    assert bridge.tokens_seen == ["Bearer token"]


def test_a_message_over_several_lines_becomes_one(start, bridge):
    client = start()
    client.initialize()
    bridge.connection.send(
        '{"jsonrpc":"2.0",\r\n "method":"notifications/message",\n "params":{"data":"a\\nb"}}'
    )
    assert client.next()["params"] == {"data": "a\nb"}


def test_progress_cancellation_and_questions_pass(start, bridge):
    client = start()
    client.initialize()
    bridge.next("initialize")
    bridge.next("notifications/initialized")
    call(client, 1, "execute_blender_code")
    bridge.next("tools/call")
    progress = {
        "jsonrpc": "2.0",
        "method": "notifications/progress",
        "params": {"progressToken": 1, "progress": 1},
    }
    bridge.send(progress)
    assert client.next() == progress
    bridge.send({"jsonrpc": "2.0", "id": 5, "method": "elicitation/create", "params": {"message": "Apply?"}})
    question = client.next()
    assert question["params"] == {"message": "Apply?"}
    client.send({"jsonrpc": "2.0", "id": question["id"], "result": {"action": "accept"}})
    assert bridge.next("") == {"jsonrpc": "2.0", "id": 5, "result": {"action": "accept"}}
    client.notify("notifications/cancelled", {"requestId": 1})
    assert bridge.next("notifications/cancelled")["params"] == {"requestId": 1}


def test_a_question_that_blender_withdraws_is_withdrawn_by_the_id_the_client_knows(start, bridge):
    client = start()
    client.initialize()
    bridge.send({"jsonrpc": "2.0", "id": 5, "method": "elicitation/create", "params": {}})
    question = client.next()
    bridge.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 5}})
    assert client.next()["params"]["requestId"] == question["id"]


@pytest.mark.parametrize("size", [125, 126, 65535, 65536, 32 * 1024 * 1024])
def test_every_frame_length_passes_both_ways(start, bridge, size):
    client = start()
    client.initialize()
    bridge.next("initialize")
    bridge.next("notifications/initialized")
    line = b'{"jsonrpc":"2.0","id":1,"method":"m","params":{"d":"%s"}}'
    padding = b"x" * (size - len(line) + 2)
    client.write(line % padding)
    assert len(bridge.next("m")["params"]["d"]) == len(padding)
    answer = b'{"jsonrpc":"2.0","id":1,"result":{"d":"%s"}}' % padding
    bridge.connection.send(answer.decode())
    assert client.line(30) == answer


def test_fragments_and_pings_in_between_are_understood(start, bridge):
    client = start()
    client.initialize()

    def fragments():
        yield '{"jsonrpc":"2.0","method":'
        assert bridge.connection.ping().wait(5)
        yield '"notifications/me'
        yield 'ssage"}'

    bridge.connection.send(fragments())
    assert client.next() == {"jsonrpc": "2.0", "method": "notifications/message"}


def test_what_is_not_json_is_answered_and_the_next_line_works(start, bridge):
    client = start()
    client.write(b"{nonsense")
    assert client.next()["error"]["code"] == -32700
    client.write(b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]')
    assert "without batches" in client.next()["error"]["message"]
    for strange in (
        b'"text"',
        b'{"jsonrpc":"2.0","id":[1],"result":{}}',
        b'{"method":"notifications/cancelled","params":[]}',
    ):
        client.write(strange)
    assert client.next()["error"]["code"] == -32700
    client.request(1, "ping", [1])
    bridge.answer(bridge.next_request("ping"), {})
    assert client.next()["id"] == 1
    client.write(b"\xff\xfe")
    assert client.next()["error"]["code"] == -32700
    client.write(b"")
    assert client.initialize()


def test_a_call_is_never_timed_out(start, bridge):
    client = start(BLENDER_SOCKET_TIMEOUT="0.2")
    client.initialize()
    bridge.next("initialize")
    bridge.next("notifications/initialized")
    call(client, 1, "execute_blender_code")
    request = bridge.next("tools/call")
    assert client.silent(1.5)
    bridge.answer(request, {"content": []})
    assert client.next()["result"] == {"content": []}


def test_it_ends_when_the_client_closes_its_end(start, bridge):
    client = start()
    client.initialize()
    code, log = client.finish()
    assert code == 0
    assert log == f"MCP Bridge: connected to Blender on 127.0.0.1:{bridge.port}\n"


def test_an_answer_that_is_under_way_when_the_client_closes_its_end_still_arrives(start, bridge):
    client = start()
    client.request(1, "ping")
    request = bridge.next("ping")
    client.process.stdin.close()
    bridge.answer(request, {})
    assert client.next() == {"jsonrpc": "2.0", "id": 1, "result": {}}


# --- without Blender ---


def test_without_blender_the_handshake_and_the_lists_are_answered(start):
    client = start()
    assert client.initialize("2025-06-18") == {**OFFLINE["initialize"], "protocolVersion": "2025-06-18"}
    client.request(1, "tools/list")
    assert client.next()["result"] == {"tools": OFFLINE["tools"]}
    for key, method, result in (
        (2, "ping", {}),
        (3, "resources/list", {"resources": []}),
        (4, "resources/templates/list", {"resourceTemplates": []}),
        (5, "prompts/list", {"prompts": []}),
        (6, "logging/setLevel", {}),
    ):
        client.request(key, method)
        assert client.next() == {"jsonrpc": "2.0", "id": key, "result": result}


def test_without_blender_an_unknown_revision_is_offered_the_newest(start):
    assert start().initialize("2031-01-01")["protocolVersion"] == "2025-11-25"


def test_without_blender_the_stateless_revision_is_answered_too(start):
    client = start()
    client.request(1, "server/discover", MODERN)
    assert client.next()["result"] == {**OFFLINE["discover"], "ttlMs": 0}
    client.request(2, "tools/list", MODERN)
    assert client.next()["result"] == {
        "tools": OFFLINE["tools"],
        "resultType": "complete",
        "ttlMs": 0,
        "cacheScope": "private",
    }
    client.request(3, "tools/call", {"name": "get_scene_info", **MODERN})
    assert client.next()["result"]["resultType"] == "complete"


def test_without_blender_a_call_says_what_to_do(start):
    client = start()
    client.initialize()
    call(client, 1, "get_scene_info")
    result = client.next()["result"]
    assert result["isError"] is True
    assert result["content"][0]["text"] == (
        "Blender is not running, or MCP Bridge is not started in it. Open Blender, go to the MCP tab in the sidebar "
        "of the 3D view (key N) and press Start; then try again."
    )
    client.request(2, "prompts/get", {"name": "x"})
    assert client.next()["error"]["message"].startswith("Blender is not running")


def test_started_first_it_connects_when_blender_appears_and_says_that_the_lists_changed(start, folder):
    client = start()
    client.initialize()
    client.request(1, "logging/setLevel", {"level": "debug"})
    client.next()
    with ScriptedBridge() as bridge:
        bridge.announce(folder)
        assert bridge.next("initialize")["params"]["clientInfo"] == {"name": "test", "version": "1"}
        bridge.next("notifications/initialized")
        assert bridge.next("logging/setLevel")["params"] == {"level": "debug"}
        assert client.next()["method"] == "notifications/tools/list_changed"
        assert client.next()["method"] == "notifications/prompts/list_changed"
        call(client, 2, "get_scene_info")
        bridge.answer(bridge.next("tools/call"), {"content": []})
        assert client.next()["id"] == 2


def test_a_subscription_waits_for_blender(start, folder):
    client = start()
    client.request("s", "subscriptions/listen", {"notifications": {}, **MODERN})
    assert client.silent()
    with ScriptedBridge() as bridge:
        bridge.announce(folder)
        assert bridge.next("subscriptions/listen")["id"] == "s"


# --- when Blender goes ---


def test_a_call_under_way_is_not_repeated_when_blender_is_killed(start, folder):
    client = start()
    with ScriptedBridge() as first:
        first.announce(folder)
        client.initialize()
        first.next("initialize")
        first.next("notifications/initialized")
        call(client, 1, "execute_blender_code")
        first.next("tools/call")
        first.drop()
        result = client.next()["result"]
        assert result["isError"] is True
        assert result["content"][0]["text"].endswith(MAYBE)
        first.next("initialize")
        first.next("notifications/initialized")
        assert client.next()["method"] == "notifications/tools/list_changed"
        assert client.next()["method"] == "notifications/prompts/list_changed"
        assert first.nothing_more()


def test_what_only_reads_is_asked_again_as_often_as_set(start, bridge):
    client = start(BLENDER_COMMAND_ATTEMPTS="2")
    call(client, 1, "get_scene_info")
    bridge.next("tools/call")
    bridge.drop()
    request = bridge.next("tools/call")
    bridge.drop()
    assert client.next()["result"]["isError"] is True
    assert bridge.nothing_more()
    assert request["id"] == 1


def test_what_brings_blender_down_each_time_is_given_up(start, bridge):
    client = start(BLENDER_COMMAND_ATTEMPTS="2")
    client.request(1, "resources/read", {"uri": "blender://scene"})
    for _ in range(2):
        bridge.next("resources/read")
        bridge.drop()
    assert client.next()["error"]["message"].endswith(MAYBE)
    assert bridge.nothing_more()


def test_each_resource_is_subscribed_to_again(start, bridge):
    client = start()
    client.initialize()
    bridge.next("initialize")
    bridge.next("notifications/initialized")
    for key in (1, 2):
        client.request(key, "resources/subscribe", {"uri": f"blender://{key}"})
        bridge.answer(bridge.next("resources/subscribe"), {})
        client.next()
    bridge.drop()
    bridge.next("initialize")
    bridge.next("notifications/initialized")
    again = [bridge.next("resources/subscribe") for _ in range(2)]
    assert [message["params"]["uri"] for message in again] == ["blender://1", "blender://2"]
    assert len({message["id"] for message in again}) == 2
    for message in again:
        bridge.answer(message, {})
    assert client.next()["method"] == "notifications/tools/list_changed"
    assert client.next()["method"] == "notifications/prompts/list_changed"
    assert client.silent(0.2)


def test_a_subscription_outlives_any_number_of_restarts(start, bridge):
    client = start()
    client.request("s", "subscriptions/listen", MODERN)
    for _ in range(5):
        bridge.next("subscriptions/listen")
        bridge.drop()
    bridge.next("subscriptions/listen")
    assert client.silent(0.1)


def test_the_next_blender_is_found_at_another_port(start, folder):
    client = start()
    with ScriptedBridge() as first:
        first.announce(folder)
        client.initialize()
        first.next("initialize")
        first.next("notifications/initialized")
    with ScriptedBridge(instance_id="second", token="another") as second:
        second.announce(folder)
        assert second.next("initialize")["params"]["clientInfo"]["name"] == "test"
        second.next("notifications/initialized")
        call(client, 1, "execute_blender_code")
        second.answer(second.next("tools/call"), {"content": []})
        assert client.next()["method"] == "notifications/tools/list_changed"
        assert client.next()["method"] == "notifications/prompts/list_changed"
        assert client.next()["id"] == 1


def test_a_late_yes_to_the_blender_that_went_does_not_reach_the_next_one(start, bridge):
    client = start()
    client.initialize()
    bridge.next("initialize")
    bridge.next("notifications/initialized")
    bridge.send({"jsonrpc": "2.0", "id": 1, "method": "elicitation/create", "params": {"message": "old"}})
    old = client.next()
    bridge.drop()
    withdrawn = client.next()
    assert withdrawn["method"] == "notifications/cancelled"
    assert withdrawn["params"] == {"requestId": old["id"], "reason": "Blender is gone"}
    bridge.next("initialize")
    bridge.next("notifications/initialized")
    bridge.send({"jsonrpc": "2.0", "id": 1, "method": "elicitation/create", "params": {"message": "new"}})
    client.next()
    client.next()
    new = client.next()
    client.send({"jsonrpc": "2.0", "id": old["id"], "result": {"action": "accept"}})
    assert bridge.nothing_more()
    client.send({"jsonrpc": "2.0", "id": new["id"], "result": {"action": "decline"}})
    assert bridge.next("")["result"] == {"action": "decline"}


def test_a_cancelled_request_is_not_asked_again(start, folder):
    client = start()
    client.initialize()
    client.request("s", "subscriptions/listen")
    client.notify("notifications/cancelled", {"requestId": "s"})
    with ScriptedBridge() as bridge:
        bridge.announce(folder)
        bridge.next("initialize")
        bridge.next("notifications/initialized")
        assert bridge.nothing_more()


def test_blender_that_falls_silent_while_nothing_is_under_way_is_left(start, folder):
    """Only the pings' silence counts; the listening socket alone, which accepts and never answers, is no Blender."""
    with socket.create_server(("127.0.0.1", 0)) as frozen:
        client = start(BLENDER_PORT=str(frozen.getsockname()[1]), BLENDER_SOCKET_TIMEOUT="0.2")
        begun = time.monotonic()
        call(client, 1, "get_scene_info")
        assert "Blender does not answer (timed out)" in client.next()["result"]["content"][0]["text"]
        assert 0.5 < time.monotonic() - begun < 5.0


# --- which Blender ---


def test_a_port_and_a_token_by_environment(start, tmp_path):
    with ScriptedBridge(token="mine") as bridge:
        client = start(BLENDER_HOST="127.0.0.1", BLENDER_PORT=str(bridge.port), BLENDER_MCP_TOKEN="mine")
        client.initialize()
        assert bridge.tokens_seen == ["Bearer mine"]


def test_a_port_alone_takes_the_token_from_the_record(start, bridge):
    start(BLENDER_PORT=str(bridge.port)).initialize()
    assert bridge.tokens_seen == ["Bearer token"]


def test_ones_own_token_goes_before_the_records(start, bridge):
    client = start(BLENDER_MCP_TOKEN="revoked")
    call(client, 1, "get_scene_info")
    text = client.next()["result"]["content"][0]["text"]
    assert text == "Blender refused the connection: This token is not known to Blender."
    assert set(bridge.tokens_seen) == {"Bearer revoked"}


@pytest.mark.parametrize("strange", [{"product": "other"}, {"instance_id": "not the one on record"}])
def test_no_token_is_sent_to_a_port_that_is_not_the_bridge_on_record(start, folder, strange):
    with ScriptedBridge(**strange) as stranger:
        stranger.announce(folder, instance_id="first")
        client = start()
        call(client, 1, "get_scene_info")
        text = client.next()["result"]["content"][0]["text"]
        assert f"127.0.0.1:{stranger.port} is in use by another program." in text
        assert stranger.tokens_seen == []


def test_a_port_that_does_not_speak_http_is_another_program(start):
    with socket.create_server(("127.0.0.1", 0)) as stranger:
        port = stranger.getsockname()[1]
        seen = []

        def greet():
            while True:
                try:
                    connection, _ = stranger.accept()
                except OSError:
                    return
                seen.append(connection.recv(4096))
                connection.sendall(b"SSH-2.0-stranger\r\n")
                connection.close()

        threading.Thread(target=greet, daemon=True).start()
        client = start(BLENDER_PORT=str(port), BLENDER_MCP_TOKEN="secret")
        call(client, 1, "get_scene_info")
        text = client.next()["result"]["content"][0]["text"]
    assert f"127.0.0.1:{port} is in use by another program." in text
    assert seen
    assert not any(b"secret" in data for data in seen)


def test_a_record_of_a_killed_blender_does_not_hide_a_running_one(start, folder, bridge):
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    dead = ScriptedBridge(instance_id="dead")
    dead.stop()
    dead.announce(folder, started=99.0, port=port)
    start().initialize()
    bridge.next("initialize")


@pytest.mark.parametrize("by", ["pid", "port", "file"])
def test_instance_chooses_among_several(start, folder, by):
    with ScriptedBridge(instance_id="older") as older, ScriptedBridge(instance_id="newer") as newer:
        older.announce(folder, pid=41, blend_file=r"C:\scenes\Chair.blend", started=1.0)
        newer.announce(folder, pid=42, blend_file="/home/chair-lover/table.blend", started=2.0)
        wanted = {"pid": "41", "port": str(older.port), "file": "chair"}[by]
        start("--instance", wanted).initialize()
        older.next("initialize")
        start().initialize()
        newer.next("initialize")


def test_an_instance_that_is_not_there_is_named_with_those_that_are(start, folder, bridge):
    bridge.announce(folder, blend_file="/home/ada/table.blend")
    client = start("--instance", "chair")
    call(client, 1, "get_scene_info")
    assert client.next()["result"]["content"][0]["text"] == (
        f"No Blender with MCP Bridge matches 'chair'. "
        f"Running: table.blend (Blender of unknown version, port {bridge.port})."
    )


WHOLE = "a whole number from 1 to 100"


@pytest.mark.parametrize(
    ("name", "value", "instead"),
    [
        ("BLENDER_PORT", "blender", "a whole number from 1024 to 65535"),
        ("BLENDER_PORT", "80", "a whole number from 1024 to 65535"),
        ("BLENDER_PORT", "9876.5", "a whole number from 1024 to 65535"),
        *(
            (f"BLENDER_{what}_ATTEMPTS", value, WHOLE)
            for what in ("CONNECT", "COMMAND")
            for value in ("0", "-1", "2.5", "inf")
        ),
        *(
            ("BLENDER_SOCKET_TIMEOUT", value, "a number of seconds from 0.1 to 3600")
            for value in ("0", "-3", "nan")
        ),
        *(
            ("BLENDER_RETRY_BACKOFF", value, "a number of seconds from 0.01 to 30")
            for value in ("0", "nan", "1e9", "soon")
        ),
    ],
)
def test_a_value_that_makes_no_sense_is_refused_with_what_to_use(start, name, value, instead):
    code, log = start(**{name: value}).finish()
    assert code == 2
    assert log == f"MCP Bridge: {name} is {value!r}: use {instead}\n"


class Refusing:
    """A port that hangs up on whoever connects; `times` has when that was."""

    def __init__(self):
        self.listening = socket.create_server(("127.0.0.1", 0))
        self.port = self.listening.getsockname()[1]
        self.times = []
        threading.Thread(target=self._refuse, daemon=True).start()

    def _refuse(self):
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self.listening.accept()
                self.times.append(time.monotonic())
                # a reset, as of a Blender that crashes; an orderly end would be another program's
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                connection.close()


@pytest.fixture
def refusing():
    found = Refusing()
    yield found
    found.listening.close()


@pytest.mark.parametrize("attempts", [1, 2, 4])
def test_each_request_has_as_many_tries_to_connect_as_set_with_longer_and_longer_pauses(
    start, refusing, attempts
):
    client = start(
        BLENDER_PORT=str(refusing.port), BLENDER_CONNECT_ATTEMPTS=str(attempts), BLENDER_RETRY_BACKOFF="0.2"
    )
    until(lambda: refusing.times)  # once by itself; then it looks every two seconds
    for key in (1, 2):
        time.sleep(0.1)
        before = len(refusing.times)
        call(client, key, "get_scene_info")
        answer = client.next()["result"]
        assert answer["isError"] is True
        assert answer["structuredContent"]["error"] == "ExternalServiceError"
        own = refusing.times[before:]
        assert len(own) == attempts
        pauses = [later - earlier for earlier, later in pairwise(own)]
        assert all(pause >= 0.2 * 2**index for index, pause in enumerate(pauses)), pauses


def test_a_request_that_comes_meanwhile_does_not_shorten_the_pause_of_another(start, refusing):
    client = start(BLENDER_PORT=str(refusing.port), BLENDER_RETRY_BACKOFF="0.4")
    until(lambda: refusing.times)
    time.sleep(0.1)
    before = len(refusing.times)
    call(client, 1, "get_scene_info")
    until(lambda: len(refusing.times) > before)
    call(client, 2, "get_scene_info")
    answers = [client.next()["id"] for _ in range(2)]
    first, second, third, *more = refusing.times[before:]
    assert (second - first, third - second) >= (0.4, 0.8)
    assert (answers, len(more)) == ([1, 2], 1)


def test_it_needs_nothing_but_itself_its_list_and_the_standard_library(shim):
    assert sorted(path.name for path in Path(shim).parent.iterdir()) == ["offline.json", "stdio_shim.py"]


def test_no_module_beside_the_shim_hides_one_of_the_standard_library() -> None:
    """A program's own folder comes first on its path: `import http.client` would find a `server/http.py`."""
    folder = Path(stdio_shim.__file__).parent
    beside = {
        path.stem for path in folder.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()
    }
    assert beside & sys.stdlib_module_names == set()


# --- several Blenders ---


@pytest.fixture
def two(folder):
    """A chair and a table, each in a Blender of its own; the table's was started last."""
    with ScriptedBridge() as chair, ScriptedBridge(instance_id="second") as table:
        chair.announce(folder, blend_file="/home/ada/chair.blend", blender_version="4.2.1")
        table.announce(folder, blend_file="/home/ada/table.blend", blender_version="5.2.0", started=2.0)
        yield chair, table


def listed(client, bridge, key=1):
    """The names that a client is given right after the handshake, of which the bridge knows one."""
    assert bridge.next_request("initialize")
    client.request(key, "tools/list")
    bridge.answer(bridge.next_request("tools/list"), {"tools": [{"name": "get_scene_info"}]})
    return [tool["name"] for tool in client.next()["result"]["tools"]]


def test_one_blender_leaves_nothing_to_choose(start, bridge):
    client = start()
    client.initialize()
    assert listed(client, bridge) == ["get_scene_info"]


def test_an_assistant_tells_blenders_apart_and_works_in_another(start, two):
    chair, table = two
    client = start()
    client.initialize()
    assert listed(client, table) == ["get_scene_info", "list_instances", "use_instance"]
    call(client, 2, "list_instances")
    found = client.next()["result"]
    assert json.loads(found["content"][0]["text"]) == found["structuredContent"]
    assert found["structuredContent"]["instances"] == [
        {
            "port": each.port,
            "pid": os.getpid(),
            "file": f"/home/ada/{name}.blend",
            "blender_version": version,
            "in_use": each is table,
        }
        for each, name, version in ((table, "table", "5.2.0"), (chair, "chair", "4.2.1"))
    ]
    call(client, 3, "use_instance", instance="chair")
    answer = client.next()
    assert answer["id"] == 3
    assert answer["result"]["content"][0]["text"].startswith(
        "From now on you work in chair.blend (Blender 4.2.1, port"
    )
    call(client, 4, "get_scene_info")
    assert chair.next_request("initialize")
    request = chair.next_request("tools/call")
    chair.answer(request, {"content": []})
    while client.next().get("id") != 4:
        pass  # news of lists


def test_a_choice_outlives_its_blender_by_its_file(start, two, folder):
    chair, _ = two
    client = start()
    client.initialize()
    call(client, 1, "use_instance", instance=str(chair.port))
    assert "chair.blend" in client.next()["result"]["content"][0]["text"]
    assert chair.next_request("initialize")
    (folder / "mcp_bridge" / "instances" / "first.json").unlink()
    chair.drop()
    call(client, 2, "get_scene_info")
    while (answer := client.next()).get("id") != 2:
        pass
    text = answer["result"]["content"][0]["text"]
    assert text.startswith("The Blender that you chose is gone: chair.blend (Blender 4.2.1, port")
    assert text.endswith("Choose another by use_instance.")
    with ScriptedBridge(instance_id="third") as again:
        again.announce(folder, blend_file="/home/ada/chair.blend", blender_version="4.2.1", started=3.0)
        call(client, 3, "get_scene_info")
        assert again.next_request("initialize")
        assert again.next_request("tools/call")["id"] == 3


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"instance": "lamp"}, "No Blender matches 'lamp'. Running: table.blend (Blender 5.2.0, port"),
        ({"instance": ".blend"}, "Several Blenders match '.blend'. Running: table.blend"),
        ({"instance": " "}, "instance: give a port, a process id or part of a file's name"),
        ({}, "instance: give a port, a process id or part of a file's name"),
    ],
)
def test_what_names_no_blender_or_several_is_told(start, two, given, says):
    client = start()
    client.initialize()
    call(client, 1, "use_instance", **given)
    result = client.next()["result"]
    assert result["isError"]
    assert result["content"][0]["text"].startswith(says)


def test_a_client_that_was_given_its_blender_keeps_it(start, two):
    chair, _ = two
    client = start("--instance", "chair")
    client.initialize()
    assert chair.next_request("initialize")
    call(client, 1, "use_instance", instance="table")
    assert "configuration names the Blender" in client.next()["result"]["content"][0]["text"]


def test_the_choice_is_there_while_nothing_answers(start, two):
    for each in two:
        each.stop()
    client = start()
    client.initialize()
    client.request(1, "tools/list")
    names = [tool["name"] for tool in client.next()["result"]["tools"]]
    assert names[-2:] == ["list_instances", "use_instance"]
