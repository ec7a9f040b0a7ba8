# SPDX-License-Identifier: GPL-3.0-or-later
"""Files by a client: sent, brought into the scene, fetched; and what is tried against it."""

from __future__ import annotations

import asyncio
import base64
import io
import json
import shutil
import struct
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import bpy
import mcp
import pytest
from bl_ext.user_default.mcp_bridge import approvals
from bl_ext.user_default.mcp_bridge.base import journal
from bl_ext.user_default.mcp_bridge.files import client_files
from bl_ext.user_default.mcp_bridge.files.client_files import store
from bl_ext.user_default.mcp_bridge.importers.opening import confined
from bl_ext.user_default.mcp_bridge.server import bridge

from support.bridges.live import websocket_transport
from support.clients.tool_calls import ToolError, Tools, on_worker
from support.services.opening import in_fork

OBJ = b"v 0 0 0\nv 2 0 0\nv 0 1 0\nf 1 2 3\n"
PLY = (
    b"ply\nformat ascii 1.0\nelement vertex 3\nproperty float x\nproperty float y\nproperty float z\n"
    b"element face 1\nproperty list uchar int vertex_indices\nend_header\n0 0 0\n2 0 0\n0 1 0\n3 0 1 2\n"
)
STL = bytes(80) + struct.pack("<I", 1) + struct.pack("<12f", 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 1, 0) + bytes(2)
USDA = b"""#usda 1.0
( upAxis = "Z" )
def Mesh "Tri" {
    int[] faceVertexCounts = [3]
    int[] faceVertexIndices = [0, 1, 2]
    point3f[] points = [(0, 0, 0), (2, 0, 0), (0, 1, 0)]
}
"""
YES = {"action": "accept", "content": {}}
NO = {"action": "decline"}


def png(width: int = 3, height: int = 2) -> bytes:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = b"".join(b"\0" + bytes((255, 0, 0)) * width for _ in range(height))
    head = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + head + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def gltf() -> bytes:
    """A triangle, with its numbers inside."""
    numbers = struct.pack("<9f", 0, 0, 0, 2, 0, 0, 0, 1, 0)
    data = "data:application/octet-stream;base64," + base64.b64encode(numbers).decode()
    return json.dumps(
        {
            "asset": {"version": "2.0"},
            "scenes": [{"nodes": [0]}],
            "scene": 0,
            "nodes": [{"mesh": 0, "name": "Tri"}],
            "meshes": [{"primitives": [{"attributes": {"POSITION": 0}}]}],
            "buffers": [{"uri": data, "byteLength": 36}],
            "bufferViews": [{"buffer": 0, "byteLength": 36}],
            "accessors": [
                {"bufferView": 0, "componentType": 5126, "count": 3, "type": "VEC3", "min": [0, 0, 0], "max": [2, 1, 0]}
            ],
        }
    ).encode()  # fmt: skip


def zipped(**files: bytes) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for name, data in files.items():
            archive.writestr(name.replace("__", "."), data)
    return made.getvalue()


def b64(data: bytes) -> str:
    return base64.b64encode(data).decode()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    named = tmp_path / "named"
    named.mkdir()
    monkeypatch.setenv("BLENDER_MCP_FOLDERS", str(named))
    monkeypatch.setattr(journal, "_current", journal.Journal(tmp_path / "audit"))
    return named


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files are opened in a fork; tests/importers/opening/test_foreign.py tries that they are in a confined process."""
    monkeypatch.setattr(confined, "run", in_fork)


@pytest.fixture
def tools(folder: Path, empty_scene: None) -> Iterator[Tools]:
    approvals.close()
    started = Tools(elicitation={"form": {}})
    yield started
    started.stop()


def send(tools: Tools, name: str, data: bytes, **more: Any) -> str:
    return tools("upload_file", name=name, data=b64(data), **more)["file"]


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize(
    ("name", "data"),
    [("a.obj", OBJ), ("a.ply", PLY), ("a.stl", STL), ("a.usda", USDA), ("a.gltf", gltf()),
     ("a.zip", zipped(scene__gltf=gltf()))],
    ids=lambda value: value if isinstance(value, str) else "",
)  # fmt: skip
def test_a_model_of_every_kind_arrives(tools: Tools, name: str, data: bytes) -> None:
    found = tools("import_file", file=send(tools, name, data), target_size=1.0, location=[5, 0, 0])
    assert (found.get("collection"), found["objects"]) == (None, [name])
    item = bpy.data.objects[name]
    assert len(item.data.vertices) == 3
    assert max(found["dimensions_m"]) == pytest.approx(1.0)
    assert "licence not known" in tools("get_asset_credits")["text"]


def test_a_picture_becomes_a_packed_image(tools: Tools) -> None:
    found = tools("import_file", file=send(tools, "brick.png", png(), mime_type="image/png"))
    assert found["pixels"] == [3, 2]
    image = bpy.data.images[found["image"]]
    assert image.name == "brick.png"
    assert (tuple(image.size), image.use_fake_user, len(image.packed_files)) == ((3, 2), True, 1)
    assert tuple(image.pixels[:3]) == (1, 0, 0)
    assert image.filepath == "//sent.png"


def test_a_text_is_read_by_a_script(tools: Tools, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BLENDER_MCP_CONFIRM", "auto")
    monkeypatch.setenv("BLENDER_MCP_REHEARSE", "never")
    found = tools("import_file", file=send(tools, "sizes.csv", "stuhl;45\r\ngröße;80\r\n".encode()))
    code = f"result = [line.split(';') for line in bpy.data.texts[{found['text']!r}].as_string().split()]"
    ran = tools("execute_blender_code", code=f"import bpy\n{code}")
    assert ran["result"] == [["stuhl", "45"], ["größe", "80"]]
    assert not bpy.data.texts[found["text"]].use_module


def test_large_files_go_in_parts_both_ways(tools: Tools) -> None:
    data = bytes(range(256)) * 4000 + b"0" * 50
    whole = png() + data  # a picture may have more behind it
    begun = tools("upload_file", name="a.png", data=b64(whole[:1000]), more=True)
    assert (begun["complete"], begun["size"]) == (False, 1000)
    with pytest.raises(ToolError, match="go on with offset 1000"):
        tools("upload_file", name="a.png", data=b64(b"x"), file=begun["file"], offset=5)
    done = tools("upload_file", name="a.png", data=b64(whole[1000:]), file=begun["file"], offset=1000)
    assert (done["complete"], done["size"], done["uri"]) == (
        True,
        len(whole),
        f"blender://file/{done['file']}",
    )
    answer = tools.raw("download_file", {"file": done["file"]})
    link = answer["content"][0]
    assert (link["type"], link["uri"], link["size"]) == ("resource_link", done["uri"], len(whole))
    assert base64.b64decode(tools.read(done["uri"])["blob"]) == whole
    got, at = b"", 0
    while at is not None:
        answer = tools.raw("download_file", {"file": done["file"], "offset": at, "length": 300_000})
        got += base64.b64decode(answer["content"][0]["resource"]["blob"])
        at = answer["structuredContent"].get("next_offset")
    assert got == whole


def test_parts_of_a_resource(tools: Tools, monkeypatch: pytest.MonkeyPatch) -> None:
    from bl_ext.user_default.mcp_bridge.server import resources

    monkeypatch.setattr(resources, "_PART", 10)
    monkeypatch.setattr(resources, "_MOST_WHOLE", 20)
    uri = f"blender://file/{send(tools, 'a.txt', b'0123456789abcdefghijklmno')}"
    assert [base64.b64decode(tools.read(f"{uri}/{part}")["blob"]) for part in range(3)] == [
        b"0123456789", b"abcdefghij", b"klmno"
    ]  # fmt: skip
    for wrong in (
        uri,
        f"{uri}/3",
        f"{uri}/-1",
        f"{uri}/9999999",
        f"{uri}/x",
        f"{uri}/..",
        "blender://file/0",
    ):
        with pytest.raises(ToolError):
            tools.read(wrong)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"name": "../a.txt", "data": ""}, "no plain file name"),
        ({"name": "a.py", "data": ""}, "send a script to execute_blender_code"),
        ({"name": "a.blend", "data": b64(b"BLENDER-v402")}, "has scripts and settings, too: use open_file"),
        ({"name": "a.exe", "data": b64(b"MZ")}, "MCP Bridge accepts no files of this kind"),
        ({"name": "a.png", "data": b64(b"MZ")}, "is not what its name says"),
        ({"name": "a.png", "data": b64(png()), "mime_type": "text/x-python"}, "is image/png by its name"),
        ({"name": "a.txt", "data": "aGVsbG8"}, "data is not valid base64"),
        ({"name": "a.txt", "data": "aGVs bG8="}, "data is not valid base64"),
        ({"name": "a.txt", "data": "aGVsbG8=\n"}, "data is not valid base64"),
        ({"name": "a.txt", "data": "aGVsbG8=aGVsbG8="}, "data is not valid base64"),
        ({"name": "a.txt", "data": "ä"}, "data is not valid base64"),
        ({"name": "a.txt", "data": "", "offset": 1}, "go on with offset 0"),
        ({"name": "a.txt", "data": "", "offset": -1}, "offset"),
        ({"name": "a.txt", "data": "", "file": "../x"}, r"There is no file '\.\./x' of yours"),
    ],
)
def test_refused_uploads(tools: Tools, arguments: Any, message: str) -> None:
    with pytest.raises(ToolError, match=message):
        tools("upload_file", **arguments)
    assert tools("list_files")["files"] == []


def test_a_message_that_is_too_long_is_refused_by_its_schema(tools: Tools) -> None:
    with pytest.raises(ToolError, match="data"):
        tools("upload_file", name="a.txt", data="A" * (44 << 20))


def test_nothing_of_another_client(tools: Tools) -> None:
    file = store.begin("somebody else", "a.txt", "text/plain")
    store.append("somebody else", file.id, "a.txt", b"secret", 0)
    store.finish("somebody else", file.id)
    assert tools("list_files")["files"] == []
    for tool in ("import_file", "download_file", "remove_file"):
        with pytest.raises(ToolError, match="There is no file"):
            tools(tool, file=file.id)
    with pytest.raises(ToolError):
        tools.read(file.uri)


@pytest.mark.usefixtures("quick")
def test_a_file_that_kills_its_reader_leaves_no_trace(tools: Tools) -> None:
    for name, data in (
        ("a.png", png()[:40] + b"\xff" * 400),
        ("a.glb", b"glTF" + struct.pack("<II", 2, 32) + b"\xff" * 20),
        ("a.fbx", b"Kaydara FBX Binary  \0" + b"\xff" * 400),
        ("a.zip", zipped(**{"../../out__gltf": gltf()})),
        ("a.zip", zipped(readme__txt=b"no model")),
        ("a.obj", b"nothing\n"),
    ):
        with pytest.raises(ToolError, match=r"can't be opened|could not be opened"):
            tools("import_file", file=send(tools, name, data))
    assert (len(bpy.data.objects), len(bpy.data.images), len(bpy.data.meshes)) == (0, 0, 0)


def test_an_export_comes_over_the_wire(tools: Tools, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("BLENDER_MCP_FOLDERS")  # it needs none
    bpy.ops.mesh.primitive_cube_add()
    answer = tools.raw("export_file", {"path": "box.obj", "download": True})
    made = answer["structuredContent"]
    assert (made["path"], made["files"], made["objects"]) == ("box.obj", ["box.obj", "box.mtl"], 1)
    links = [block for block in answer["content"] if block["type"] == "resource_link"]
    assert [link["name"] for link in links] == made["files"]
    assert b"\nv " in base64.b64decode(tools.read(links[0]["uri"])["blob"])
    for path in ("../box.obj", "a/box.obj", "box.py"):
        with pytest.raises(ToolError):
            tools("export_file", path=path, download=True)


def test_a_file_of_a_folder_needs_a_yes_unless_the_client_wrote_it(tools: Tools, folder: Path) -> None:
    bpy.ops.mesh.primitive_cube_add()
    tools("export_file", path="box.stl")
    own = tools.raw("download_file", {"path": "box.stl"})
    assert base64.b64decode(own["content"][0]["resource"]["blob"]) == (folder / "box.stl").read_bytes()
    (folder / "mine.png").write_bytes(png())
    arguments = {"path": "mine.png"}
    first = tools.raw("download_file", arguments)
    [(key, request)] = first["inputRequests"].items()
    assert request["params"]["message"].startswith(f"Send {folder / 'mine.png'} (")
    rounds = {"requestState": first["requestState"]}
    assert tools.raw("download_file", arguments, inputResponses={key: NO}, **rounds)["isError"]
    first = tools.raw("download_file", arguments)
    rounds = {"requestState": first["requestState"], "inputResponses": {key: YES}}
    answer = tools.raw("download_file", arguments, **rounds)
    assert base64.b64decode(answer["content"][0]["data"]) == png()
    (folder / "box.stl").write_bytes(STL)  # not the client's any more
    assert "inputRequests" in tools.raw("download_file", {"path": "box.stl"})


@pytest.mark.parametrize("path", ["../a.png", "/etc/passwd", "link.png", "key.pem", "missing.png"])
def test_nothing_outside_the_folders(tools: Tools, folder: Path, path: str) -> None:
    (folder.parent / "a.png").write_bytes(png())
    (folder / "link.png").symlink_to(folder.parent / "a.png")
    (folder / "key.pem").write_text("secret")
    with pytest.raises(ToolError):
        tools("download_file", path=path)
    assert tools("list_files")["files"] == []


def test_files_go_with_the_server(tools: Tools) -> None:
    send(tools, "a.txt", b"x")
    kept = store._folder
    assert kept is not None
    assert kept.is_dir()
    tools.stop()
    assert not kept.exists()
    assert store.list("local") == []


def test_files_go_with_a_client_that_is_revoked(tools: Tools) -> None:
    send(tools, "a.txt", b"x")
    running = bridge.current()
    assert running is not None
    running.disconnect(store_owner(tools))
    assert store.list(store_owner(tools)) == []


def test_many_small_files(tools: Tools, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_files, "_MOST_FILES", 4)
    sent = [send(tools, "a.txt", b"x") for _ in range(4)]
    with pytest.raises(ToolError, match="You have 4 files, and may not have more: remove_file removes one"):
        send(tools, "a.txt", b"x")
    assert len(tools("remove_file", file=sent[0])["files"]) == 3
    send(tools, "a.txt", b"x")


def test_uploads_and_downloads_are_in_the_journal(tools: Tools, folder: Path) -> None:
    (folder / "box.stl").write_bytes(STL)
    store.note_written(store_owner(tools), folder / "box.stl")
    tools("import_file", file=send(tools, "a.txt", b"x"))
    tools("download_file", path="box.stl")
    said = [json.loads(line)["event"] for line in journal.current().path.read_text().splitlines()]
    assert [event for event in said if event.startswith("file_")] == [
        "file_received", "file_imported", "file_sent"
    ]  # fmt: skip


def store_owner(tools: Tools) -> str:
    from bl_ext.user_default.mcp_bridge.server.clients import authenticator

    return authenticator.LOCAL_CLIENT.id


def test_a_disk_that_refuses_is_told(tools: Tools) -> None:
    file = send(tools, "a.obj", OBJ)
    shutil.rmtree(store._folder)
    with pytest.raises(ToolError, match="can't be laid out"):
        tools("import_file", file=file)


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
def test_the_official_sdk_sends_describes_and_fetches(tools: Tools, mode: str) -> None:
    """What the tools answer is validated by the SDK against their output schemas, since it has them in its list."""

    async def story() -> None:
        url = f"ws://127.0.0.1:{tools.port}/mcp?token={tools.token}"
        async with mcp.Client(websocket_transport(url), mode=mode) as client:

            async def call(tool: str, **arguments: Any) -> Any:
                result = await client.call_tool(tool, arguments)
                assert not result.is_error, result.content
                return result

            for query in ("upload_file", "import_file", "download_file", "export_file", "list_files"):
                await call("find_tools", query=query, limit=1)
            assert {"upload_file", "export_file"} <= {tool.name for tool in (await client.list_tools()).tools}
            sent = (await call("upload_file", name="a.obj", data=b64(OBJ))).structured_content
            brought = (await call("import_file", file=sent["file"])).structured_content
            [name] = brought["objects"]
            scene = (await call("get_scene_info", describe=["collections", "users"])).structured_content
            assert scene["described"]["collections"] == ["Scene Collection (1 objects)"]
            about = (
                await call("get_object_info", name=name, describe=["materials", "users"])
            ).structured_content
            assert about["described"]["materials"] == {}
            exported = await call("export_file", path="b.stl", download=True)
            link = exported.content[0]
            assert (link.type, link.name, link.mime_type) == ("resource_link", "b.stl", "model/stl")
            [whole] = (await client.read_resource(link.uri)).contents
            assert len(base64.b64decode(whole.blob)) == link.size == 84 + 50
            [part] = (await client.read_resource(f"{link.uri}/0")).contents
            assert part.blob == whole.blob
            shown = await call("download_file", file=exported.structured_content["downloads"][0]["file"])
            assert shown.content[0].resource.blob == whole.blob
            assert len((await call("list_files")).structured_content["files"]) == 2

    on_worker(lambda: asyncio.run(asyncio.wait_for(story(), 60)))
