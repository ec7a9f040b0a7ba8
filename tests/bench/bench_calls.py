# SPDX-License-Identifier: GPL-3.0-or-later
"""Calls to a Blender without a window: a server process of its own, clients over loopback."""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

from support import baselines
from support.bench import Row, calls_at_once, percentile, samples
from support.clients.raw_client import CubeClient, RawClient
from support.running import blender
from support.running.ports import free_port

_SERVE = """
import os
from bl_ext.user_default.mcp_bridge.base import main_thread
from bl_ext.user_default.mcp_bridge.server import bridge
from bl_ext.user_default.mcp_bridge.server.protocol.messages.content import ToolResult
from bl_ext.user_default.mcp_bridge.server.protocol.features import Tool

async def echo(context, arguments):
    return ToolResult([{"type": "text", "text": arguments["text"]}])

running = bridge.start()
running.features.add(Tool(name="echo", input_schema={"type": "object"}, handler=echo))
mesh = bpy.data.meshes.new("Part")
if OBJECTS:
    for number in range(OBJECTS):
        bpy.context.scene.collection.objects.link(bpy.data.objects.new(f"Part {number}", mesh))
print(running.port, running.token, flush=True)
os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # nobody reads what Cycles prints: a full pipe would stop it
main_thread.pump(lambda: True)
"""
_SPIN = """
import os
os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0)) if hasattr(os, "SCHED_IDLE") else os.nice(19)
while True:
    pass
"""
MIB = 1024 * 1024
_ASPECTS = "materials node_trees modifiers animation collections missing_files libraries users".split()


@contextmanager
def server(objects: int = 0) -> Iterator[tuple[int, str]]:
    """A Blender that serves; gives its port and token."""
    with tempfile.TemporaryDirectory() as folder:
        own = {"BLENDER_MCP_CONFIRM": "auto", "BLENDER_MCP_REHEARSE": "never"}
        env = blender.environment(Path(folder), BLENDER_PORT=str(free_port()), **own)
        command = blender.command(_SERVE.replace("OBJECTS", str(objects)))
        process = subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True)
        assert process.stdout
        try:
            port, token = process.stdout.readline().split()
            yield int(port), token
        finally:
            process.kill()
            process.wait()


def rows() -> Iterator[Row]:
    bare = baselines.bare_echo(150, 3000)
    with server() as (port, token):
        client = RawClient(port, token)
        # Before find_tools is called, which adds to this client's list.
        big = json.dumps(client.request("tools/list", {}), separators=(",", ":"), ensure_ascii=False)
        pings = samples(lambda: client.request("ping", {}), 3000)
        ping = percentile(pings, 0.5)
        yield Row("ping, p50", ping * 1e3, "ms")
        yield Row("the same against a bare socket echo", ping / bare, "×", "≤ 2", f"{bare * 1e3:.3g} ms")
        yield from _latency(client, "back to back", bare)
        with awake():
            yield from _latency(client, "processors kept awake", baselines.bare_echo(150, 3000))
        hundred = [{"tool": "get_object_info", "arguments": {"name": "Cube"}}] * 100
        batches = samples(lambda: client.call("batch", calls=hundred), 100)
        yield Row("batch of 100 get_object_info, p50", percentile(batches, 0.5) * 1e3, "ms")
        finds = samples(lambda: client.call("find_tools", query="export objects as glTF"), 300)
        yield Row("find_tools, p50", percentile(finds, 0.5) * 1e3, "ms")
        yield from _assistants_calls(client)
        rate, most = clients_at_once(port, token, 8, 4.0), baselines.answers_a_second(8, 2.0)
        said = f"{rate / most:.2f} of an asyncio server that only answers ({most:,.0f}/s)"
        yield Row("8 clients at once", rate, "calls/s", "≥ 8,000", said)
        for size in (1, 4, 16, 32):
            text = "x" * (size * MIB)
            call = client.prepared("echo", text=text)
            taken = samples(lambda call=call: client.call_prepared(call), 3, warm_up=1)
            yield Row(
                f"payload of {size} MiB there and back",
                taken[1] * 1e3,
                "ms",
                "≤ 250" if size == 32 else "",
                _against(taken[1], baselines.json_echo(text, 3), "an echo that decodes and encodes it"),
            )
        yield from _files(client)
        yield Row("tool list", len(big.encode()) / 1024, "KiB", "≤ 32")
    with server(10_000) as (port, token):
        client = RawClient(port, token)
        pages = samples(lambda: client.call("get_scene_info", limit=100), 20, warm_up=2)
        yield Row("get_scene_info, 10,000 objects, a page, p50", percentile(pages, 0.5) * 1e3, "ms", "≤ 50")
        cursor = client.call("get_scene_info", limit=100)["structuredContent"]["next_cursor"]
        later = samples(lambda: client.call("get_scene_info", limit=100, cursor=cursor), 20, warm_up=2)
        yield Row("the same, a later page, p50", percentile(later, 0.5) * 1e3, "ms", "≤ 50")
        pages = samples(lambda: client.call("get_scene_info", limit=100, describe=_ASPECTS), 20, warm_up=2)
        yield Row("the same, described in every aspect, p50", percentile(pages, 0.5) * 1e3, "ms", "≤ 50")
        calls = samples(lambda: client.call("get_object_info", name="Part 5000"), 500)
        yield Row("get_object_info, 10,000 objects, p50", percentile(calls, 0.5) * 1e3, "ms")
        looks = samples(lambda: client.call("look"), 3, warm_up=1)
        yield Row("look, four views, 10,000 objects, without a window", looks[1] * 1e3, "ms")
    yield _first_script()
    yield _enabling()


def _files(client: RawClient) -> Iterator[Row]:
    """A file there, and back as a resource."""
    size = 8 * MIB
    picture = b"\x89PNG\r\n\x1a\n" + bytes(size - 8)
    data = base64.b64encode(picture).decode()
    there, back = [], []
    for _ in range(3):
        begin = time.perf_counter()
        sent = client.call("upload_file", name="a.png", data=data)["structuredContent"]
        there.append(time.perf_counter() - begin)
        begin = time.perf_counter()
        client.request("resources/read", {"uri": sent["uri"]})
        back.append(time.perf_counter() - begin)
        client.call("remove_file", file=sent["file"])
    yield Row("upload_file of 8 MiB, median of 3", sorted(there)[1] * 1e3, "ms")
    yield Row("the same, read as a resource", sorted(back)[1] * 1e3, "ms")


def _latency(client: RawClient, how: str, bare: float) -> Iterator[Row]:
    calls = samples(lambda: client.call("get_object_info", name="Cube"), 5000)
    for part, target in ((0.5, "≤ 0.3"), (0.95, ""), (0.99, "≤ 1")):
        taken = percentile(calls, part)
        said = _against(taken, bare, "a bare socket echo") if part == 0.5 else ""
        yield Row(f"get_object_info {how}, p{part * 100:.0f}", taken * 1e3, "ms", target, said)


def _against(taken: float, least: float, what: str) -> str:
    return f"{taken / least:.1f} × {what} ({least * 1e3:.3g} ms)"


@contextmanager
def awake() -> Iterator[None]:
    """Keep the processors from sleeping by work that gives way to any other.

    A call wakes four threads in turn. Where a sleeping processor takes long to wake, as in many virtual machines, that
    is most of its time; this tells the rest of it, as setting the CPU governor to "performance" does elsewhere.
    """
    spinning = [subprocess.Popen([sys.executable, "-c", _SPIN]) for _ in range(os.cpu_count() or 1)]
    try:
        yield
    finally:
        for process in spinning:
            process.kill()
            process.wait()


def _assistants_calls(client: RawClient) -> Iterator[Row]:
    """What an assistant looks up and looks at."""
    queries = iter([f"bevel edges {number}" for number in range(400)])
    found = samples(lambda: client.call("search_api_docs", query=next(queries)), 200)
    yield Row("search_api_docs, p50", percentile(found, 0.5) * 1e3, "ms", "≤ 20")
    yield Row("search_api_docs, p99", percentile(found, 0.99) * 1e3, "ms")
    trees = samples(lambda: client.call("get_node_tree", kind="material", name="Material"), 200)
    yield Row("get_node_tree of the default material, p50", percentile(trees, 0.5) * 1e3, "ms")
    yield from _building(client)
    changes = samples(lambda: client.call("list_changes"), 200)
    yield Row("list_changes, p50", percentile(changes, 0.5) * 1e3, "ms")
    curves = samples(lambda: client.call("get_animation", kind="object", name="Cube"), 200)
    yield Row("get_animation, p50", percentile(curves, 0.5) * 1e3, "ms")
    looks = samples(lambda: client.call("look"), 3, warm_up=1)
    said = _against(looks[1], baselines.renders(4, 320), "four plain renders")
    yield Row("look, four views, 640 pixels, without a window", looks[1] * 1e3, "ms", "≤ 350", said)


def _building(client: RawClient) -> Iterator[Row]:
    """A chain of 500 nodes, built anew each time; the whole run with its undo step."""
    count = 500
    names = [f"Math {number}" for number in range(count)]
    links = [[one, "Value", next_one, "Value"] for one, next_one in pairwise(names)]
    nodes = [{"name": name, "type": "ShaderNodeMath"} for name in names]
    tree = {"type": "ShaderNodeTree", "nodes": nodes, "links": links}
    group = "import bpy\nbpy.data.node_groups.new('Chain', 'ShaderNodeTree')"
    client.call("execute_blender_code", code=group)
    taken = []
    for _ in range(4):
        begin = time.perf_counter()
        done = client.call("set_node_tree", kind="node_group", name="Chain", tree=tree)
        taken.append(time.perf_counter() - begin)
        assert done["structuredContent"].get("result") == {"nodes": count, "links": count - 1}, done
    median = sorted(taken[1:])[1]
    said = _against(median, baselines.nodes(count), "plain Python")
    yield Row(f"set_node_tree of {count} nodes, median of 3", median * 1e3, "ms", "", said)


def clients_at_once(port: int, token: str, count: int, seconds: float) -> float:
    """Calls per second that `count` clients get together."""
    askers = [CubeClient(port, token) for _ in range(count)]
    try:
        return calls_at_once(askers, seconds)
    finally:
        for asker in askers:
            asker.close()


def _first_script() -> Row:
    """The first script of a server that started a second ago, and the second script."""
    taken = []
    for _ in range(5):
        with server() as (port, token):
            client = RawClient(port, token)
            client.request("tools/list", {})
            time.sleep(1.0)
            both = []
            for code in ("result = len(bpy.data.objects)", "result = len(bpy.data.meshes)"):
                begin = time.perf_counter()
                answer = client.call("execute_blender_code", code=f"import bpy\n{code}")
                both.append((time.perf_counter() - begin) * 1e3)
                assert answer["structuredContent"]["status"] == "success", answer
            taken.append(both)
            client.close()
    first, second = sorted(taken)[2]
    return Row("the first script, median of 5", first, "ms", "≤ 50", f"{first / second:.1f} × the second one")


def _enabling() -> Row:
    code = """
import time
begin = time.perf_counter()
addon_utils.enable("bl_ext.user_default.mcp_bridge", default_set=True)
print((time.perf_counter() - begin) * 1e3)
"""
    taken = []
    for _ in range(5):
        with tempfile.TemporaryDirectory() as folder:
            printed = blender.run(code, blender.environment(Path(folder)), enabled=False)
            taken.append(float(printed.split()[-1]))
    median, start = sorted(taken)[2], min(baselines.start() for _ in range(3)) * 1e3
    said = f"{100 * median / start:.0f} % of Blender's own start ({start:.0f} ms)"
    return Row("enabling the extension, median of 5", median, "ms", "≤ 50", said)
