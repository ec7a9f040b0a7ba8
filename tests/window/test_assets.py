# SPDX-License-Identifier: GPL-3.0-or-later
"""The panel Assets in Blender's real window: its pictures, and that a large download disturbs nobody."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator

import pytest

from support.clients.raw_client import RawClient
from support.on_screen import window as window_support
from support.on_screen.asset_panel import Assets, served
from support.on_screen.reading import Rectangle
from support.running.blender import EXTENSION
from support.services.polyhaven import SKY, PolyHavenServer
from support.services.web import Reply

#: Bytes of the largest download.
LARGE = 500_000_000


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PolyHavenServer]:
    with served(tmp_path_factory.mktemp("polyhaven")) as started:
        # From the start, since the panel asks for the sizes of what it shows, and Blender keeps the answer.
        large = started.add_file("/dl/large.jpg", bytes(LARGE), pause=0.012, piece=1 << 20)
        started.files["brick_wall_02"] = {"Diffuse": {"2k": {"jpg": large}}}
        yield started


@pytest.fixture(scope="module")
def assets(server: PolyHavenServer) -> Iterator[Assets]:
    env = {"BLENDER_MCP_POLYHAVEN_API": server.url}
    with window_support.start("assets", env=env) as window:
        shown = Assets(window)
        shown.run(_OVER_THE_WINDOW)
        window.settle(1.0)
        window.picture("assets-before")
        yield shown


def test_every_state_of_the_panel(assets: Assets, server: PolyHavenServer) -> None:
    tab = assets.open()
    assets.window.picture("assets-rest")

    found = server.routes["/assets"]
    server.routes["/assets"] = lambda request: time.sleep(2) or found(request)
    assets.choose(kind="models")
    assets.window.settle(0.5)
    assert assets.run("result = asset_view.view.searching") == "Searching…"
    assets.window.picture("assets-searching")
    server.routes["/assets"] = found
    assets.choose(kind="textures")
    assets.until("len(view.entries) == 2 and all(map(asset_view.icon, view.entries))")
    assets.window.picture("assets-found")
    assets.window.find("bytes", tab)  # how much would be fetched

    for path in [path for path in server.routes if path.startswith("/dl/brick")]:
        server.routes[path].pause, server.routes[path].piece = 0.05, 20
    assets.window.press_on("Brick Wall", tab)
    assets.until("view.job and view.job.progress > 10")
    assets.window.picture("assets-downloading")
    for path in [path for path in server.routes if path.startswith("/dl/brick")]:
        server.routes[path].pause = 0
    assets.until("view.done")
    assert assets.run("result = [m.name for m in bpy.data.materials if 'asset_credit' in m]") == [
        "Brick Wall"
    ]
    assets.window.find("Put Brick Wall onto Cube", tab)
    assets.window.picture("assets-done")
    assets.run("bpy.ops.mcp_bridge.favour_asset(asset_id='brick_wall_02')")
    assets.window.settle()
    assets.window.picture("assets-favourite")
    assets.choose(shown="recent")
    assets.until("len(view.entries) == 1")
    assets.window.picture("assets-recent")
    assets.choose(shown="all")
    assets.until("len(view.entries) == 2")

    assets.choose(kind="hdris")
    for path in [path for path in server.routes if path.startswith("/dl/sky")]:
        server.routes[path] = Reply("gone", 404)
    assets.until("view.entries")
    assets.run(f"bpy.ops.mcp_bridge.import_asset(asset_id={SKY!r})")
    assets.until("view.error")
    assets.window.picture("assets-failed")


def test_the_mouse_says_where_a_model_stands_and_which_object_gets_a_texture(
    assets: Assets, server: PolyHavenServer
) -> None:
    window, tab = assets.window, assets.open()
    view = Rectangle(0, 0, window.width, BARS)
    top = assets.pixel(0.5, -0.5, 1.0)  # of the cube that a new file has
    assets.choose(kind="models")
    assets.until("len(view.entries) == 1")
    there = assets.run("result = len(bpy.data.objects)")
    assets.place("Chair", tab)
    window.move(*top)
    window.find("Place Chair Here", view)
    window.picture("assets-place-model")
    window.press("Escape")
    assets.place("Chair", tab)
    window.move(*top)
    window.find("Place Chair Here", view)
    assert assets.run("result = [len(bpy.data.objects), asset_view.view.job is None]") == [there, True]
    window.click(*top)
    assets.until("view.done")
    window.picture("assets-placed-model")
    assert assets.run(_CHAIR) == pytest.approx([0.5, -0.5, 1.0], abs=0.05)

    assets.choose(kind="textures")
    assets.until("len(view.entries) == 2")
    side = assets.pixel(1.0, -0.5, 0.0)
    assets.place("Brick Wall", tab)
    beside = assets.pixel(-4.0, -4.0, 0.0)
    window.move(*beside)
    window.find("Point at the Object", view)
    window.click(*beside)
    window.move(*side)
    window.find("Put Brick Wall onto Cube", view)
    window.picture("assets-place-texture")
    window.click(*side)
    assets.until("view.done")
    assert assets.run("result = bpy.data.objects['Cube'].active_material.name").startswith("Brick Wall")

    assets.run("bpy.context.view_layer.objects.active = bpy.data.objects['Cube']")
    assert assets.run(_SIZES) == [[16, 16]]
    window.press_on("Resolution of Brick Wall", tab)
    window.press_on("1K")
    assets.until("'in 1K now' in view.done")
    assert assets.run(_SIZES) == [[8, 8]]
    window.picture("assets-resolution")


#: How high the header and the tool's settings are at the top of a 3D view over the whole window, with the top bar.
BARS = 120
_CHAIR = "result = list(bpy.context.selected_objects[0].matrix_world.translation)"
_SIZES = """
result = sorted({tuple(i.size) for i in bpy.data.images if i.get('asset_id') == 'brick_wall' and i.users})
"""

_OVER_THE_WINDOW = """
area = next(a for a in bpy.context.window.screen.areas if a.type == 'VIEW_3D')
with bpy.context.temp_override(area=area, region=area.regions[-1]):
    bpy.ops.screen.screen_full_area()
"""

#: Notes how much memory (MB) is taken, and when the scene is drawn: with `busy` as often as Blender can.
_WATCH = """
import time
area = next(a for a in bpy.context.window.screen.areas if a.type == 'VIEW_3D')
space = bpy.app.driver_namespace
space['drawn'], space['memory'], space['busy'] = [], [], False

def tick():
    status = open('/proc/self/status').read()
    space['memory'].append(int(status.partition('VmRSS:')[2].split()[0]) / 1000)
    if space['busy']:
        area.tag_redraw()
    return 0.01

if 'draw' not in space:
    note = lambda: space['drawn'].append(time.perf_counter())
    space['draw'] = area.spaces[0].draw_handler_add(note, (), 'WINDOW', 'POST_PIXEL')
    bpy.app.timers.register(tick)
"""
_SEEN = """
space = bpy.app.driver_namespace
drawn = space['drawn']
result = [[b - a for a, b in zip(drawn, drawn[1:])], space['memory']]
space['drawn'], space['memory'], space['busy'] = [], [], False
"""
_BUSY = "bpy.app.driver_namespace['busy'] = True"


def test_a_large_download_leaves_the_window_the_calls_and_the_memory_alone(
    assets: Assets, capsys: pytest.CaptureFixture[str]
) -> None:
    url, token = assets.window.serve()
    client = RawClient(int(url.rpartition(":")[2].partition("/")[0]), token)
    assets.choose(kind="textures")
    assets.until("len(view.entries) == 2")
    assets.run(_WATCH)
    calls_at_rest = _calls(client, 1.0)
    assets.run(_BUSY)
    time.sleep(2.0)
    resting, memory = assets.run(_SEEN)
    rest = statistics.median(memory)

    assets.run("bpy.ops.mcp_bridge.import_asset(asset_id='brick_wall_02', size_agreed=True)")
    begin = time.monotonic()
    calls = _calls(client, 3.0)
    assert assets.run("result = asset_view.view.job is not None"), "it is still on its way"
    assets.run(_BUSY)
    while assets.run("result = asset_view.view.job is not None"):
        time.sleep(0.2)
    took = time.monotonic() - begin
    frames, memory = assets.run(_SEEN)
    assert "sent a file that is no picture" in assets.run("result = asset_view.view.error")
    assets.run(
        f"import shutil; shutil.rmtree(import_module('{EXTENSION}.importers.environment').asset_cache()._files)"
    )
    client.close()
    told = (
        f"500 MB in {took:.1f} s; frame p50 {_ms(frames)} (at rest {_ms(resting)}), longest {max(frames) * 1e3:.0f} ms;"
        f" call p50 {_ms(calls)} (at rest {_ms(calls_at_rest)}), longest {max(calls) * 1e3:.0f} ms of {len(calls)};"
        f" memory {max(memory) - rest:+.0f} MB"
    )
    with capsys.disabled():
        print(f"\n{told}")
    assert max(memory) - rest < 100, told
    assert statistics.median(frames) < 0.1 + 10 * statistics.median(resting), told
    assert statistics.median(calls) < 0.1 + 10 * statistics.median(calls_at_rest), told
    assert max(*frames, *calls) < 5, told


def _calls(client: RawClient, seconds: float) -> list[float]:
    """How long each of the calls took that were made one after the other in this time."""
    took, until = [], time.monotonic() + seconds
    while (begin := time.monotonic()) < until:
        client.call("get_object_info", name="Cube")
        took.append(time.monotonic() - begin)
        time.sleep(0.01)
    return took


def _ms(samples: list[float]) -> str:
    return f"{statistics.median(samples) * 1e3:.1f} ms"
