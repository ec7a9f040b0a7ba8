# SPDX-License-Identifier: GPL-3.0-or-later
"""The guarded view of Blender, as scripts meet it: what works as in Blender, and how a refusal reads."""

from __future__ import annotations

import ast
import contextlib
import gc
import inspect

import bpy
import pytest
from bl_ext.user_default.mcp_bridge.base import settings
from bl_ext.user_default.mcp_bridge.base.errors import HandlerError, LimitExceeded, PolicyError
from bl_ext.user_default.mcp_bridge.base.process import threads
from bl_ext.user_default.mcp_bridge.sandbox.blender import overrides
from bl_ext.user_default.mcp_bridge.sandbox.growth import estimate
from bl_ext.user_default.mcp_bridge.sandbox.run import execute

from support.running import busy, fork
from support.sandboxing.scripts import result

pytestmark = pytest.mark.usefixtures("fresh_file")


def refusal(code: str) -> str:
    with pytest.raises(PolicyError) as caught:
        result(code)
    return str(caught.value)


# --- as in Blender ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("o = bpy.context.object\no.location.x += 1.5\nresult = list(o.location)", [1.5, 0.0, 0.0]),
        ("result = isinstance(bpy.context.object.data, bpy.types.Mesh)", True),
        ("result = bpy.context.object == bpy.data.objects['Cube']", True),
        (
            "result = hasattr(bpy.context.scene, 'no_such'), hasattr(bpy.context.scene, 'render')",
            [False, True],
        ),
        ("result = getattr(bpy.context.object, 'no_such', 7)", 7),
        ("try:\n    bpy.context.object.no_such\nexcept AttributeError as e:\n    result = str(e)", None),
        (
            "try:\n    bpy.ops.mesh.no_such()\nexcept AttributeError as e:\n    result = 'be found' in str(e)",
            True,
        ),
        ("result = bpy.ops.mesh.primitive_cube_add.poll()", True),
        (
            "result = 'primitive_cube_add' in dir(bpy.ops.mesh), 'save_mainfile' in dir(bpy.ops.wm)",
            [True, False],
        ),
        ("result = bpy.context.scene.path_resolve('render.resolution_x')", 1920),
        ("result = sorted(bpy.context.copy()) if False else bpy.app.version >= (4, 2, 0)", True),
        (
            "o = bpy.context.object\no['k'] = 3\nresult = o['k'], 'k' in o, o.get('z', 1), list(o.keys())",
            [3, True, 1, ["k"]],
        ),
        ("result = bpy.types.Object.bl_rna.properties['location'].array_length", 3),
        ("from bpy import data as D, context as C\nresult = C.object.name in D.objects", True),
        ("bpy.context.object.name = 'A'\nresult = bpy.data.objects.find('A') >= 0", True),
        (
            "result = [i.identifier for i in bpy.types.Light.bl_rna.properties['type'].enum_items]",
            ["POINT", "SUN", "SPOT", "AREA"],
        ),
        ("result = bpy.app.background", False),
        (
            "bpy.context.scene.render.filepath = '//out_'\nresult = bpy.context.scene.render.filepath",
            "//out_",
        ),
    ],
)
def test_works_as_in_blender(code: str, expected: object) -> None:
    if expected is None:
        assert "no_such" in result(code)
    else:
        assert result(code) == expected


def test_find_takes_what_the_functions_of_that_name_take() -> None:
    start = "import bpy\no = bpy.context.object\no.keyframe_insert('location', frame=1)\no.driver_add('scale', 2)\n"
    found = "fcurves" if bpy.app.version < (5, 0) else "layers[0].strips[0].channelbags[0].fcurves"
    curves = f"o.animation_data.action.{found}"
    drivers = "o.animation_data.drivers.find('scale', index=2) is not None"
    blocks = "bpy.data.objects.find('Cube') >= 0, bpy.data.objects.find('none')"
    found = result(f"{start}result = [{curves}.find('location', index=1).array_index, {drivers}, {blocks}]")
    assert found == [1, True, True, -1]


def test_blenders_own_errors_reach_the_script() -> None:
    with pytest.raises(HandlerError, match="enum"):
        result("bpy.context.object.rotation_mode = 'BAD'")
    with pytest.raises(HandlerError, match="read-only"):
        result("bpy.context.object.type = 'MESH'")


# --- refusals say why and what instead ----------------------------------------------------------------------


def test_override_takes_only_what_blender_takes_it_for() -> None:
    """Whatever may be overridden is given a driver, alone and in a list: Blender would use it as what the name says."""
    members = overrides._OVERRIDES | overrides.CONTEXT_MEMBERS - {"edit_object"}
    typed = sorted(name for name in members if overrides._member_types(name)[0])
    assert len(typed) > 80
    assert (
        result(
            f"d = bpy.context.object.driver_add('location', 0).driver\nresult = []\nfor name in {typed}:\n"
            "    for wrong in d, [d]:\n        try:\n            bpy.context.temp_override(**{name: wrong})\n"
            "            result.append(name)\n        except TypeError as error:\n"
            "            assert f'temp_override({name}=…) takes ' in str(error)\n"
        )
        == []
    )
    assert "reviewed members" in refusal("bpy.context.temp_override(window_manager=bpy.data.objects[0])")


def test_override_with_bones() -> None:
    """Those of the pose and those of the rest position, each under its names."""
    assert result(
        "a = bpy.data.armatures.new('a')\no = bpy.data.objects.new('a', a)\n"
        "bpy.context.collection.objects.link(o)\nbpy.context.view_layer.objects.active = o\n"
        "bpy.ops.object.mode_set(mode='EDIT')\na.edit_bones.new('b').tail = (0, 0, 1)\n"
        "bpy.ops.object.mode_set(mode='POSE')\np = o.pose.bones[0]\n"
        "with bpy.context.temp_override(active_bone=p.bone, active_pose_bone=p, selected_pose_bones=[p]):\n"
        "    result = [bpy.context.active_bone.name, len(bpy.context.selected_pose_bones)]"
    ) == ["b", 1]


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("bpy.context.preferences.edit", "user's preferences"),
        ("bpy.app.handlers.load_post.append(print)", "animate with keyframes or drivers"),
        ("bpy.app.timers.register(print)", "do the work now"),
        ("bpy.utils.register_class(int)", "an add-on as a file"),
        ("bpy.types.Object.x = bpy.props.IntProperty()", "use custom properties"),
        ("bpy.props.RemoveProperty(bpy.types.Object, attr='x')", "use custom properties"),
        ("bpy.msgbus.clear_by_owner(1)", "link them with a driver"),
        ("bpy.data.images.load('/x.png')", "import_file, or set_texture"),
        ("bpy.data.texts.new('a').use_module = True", "when the file is opened"),
        ("bpy.ops.wm.save_mainfile()", "use the tool save_file"),
        ("bpy.context.object.driver_add('location', 0).driver.expression = 'open(x)'", "no mathematics"),
        ("bpy.context.object.keyframe_insert('x[f()]')", "data path"),
        ("bpy.types.Scene.x = 1", "works on data"),
        ("bpy.types.Object.bl_rna_get_subclass_py", "use it on an object"),
        (
            "bpy.types.SpaceView3D.draw_handler_add(print, (), 'WINDOW', 'POST_PIXEL')",
            "leaves no code behind",
        ),
        ("bpy.context.scene['cycles'] = {}", "belongs to an add-on")
        if bpy.app.version < (5, 0)
        else ("bpy.msgbus", "driver"),
        ("bpy.data.materials['Material'].node_tree.nodes.new('ShaderNodeScript')", "other nodes"),
        ("bpy.context.window_manager.keyconfigs", "keymap"),
        ("bpy.data.images.new('i', 4, 4).pack(data=b'x', data_len=1)", "without arguments"),
        ("with bpy.context.temp_override(edit_text=None):\n    pass", "edit_text"),
        ("with bpy.context.temp_override(edit_object=None):\n    pass", "whether it is being edited"),
        (
            "bpy.context.area.type = 'CONSOLE'" if False else "bpy.context.screen.areas[0].type = 'CONSOLE'",
            "user's window",
        ),
    ],
)
def test_refusal(code: str, said: str) -> None:
    assert said in refusal(code)


def test_render_engines_of_other_add_ons() -> None:
    class EXAMPLE_RE(bpy.types.RenderEngine):
        bl_idname = "EXAMPLE_RE"
        bl_label = "Example"

    bpy.utils.register_class(EXAMPLE_RE)
    try:
        assert "belongs to another add-on" in refusal("bpy.context.scene.render.engine = 'EXAMPLE_RE'")
    finally:
        bpy.utils.unregister_class(EXAMPLE_RE)


def test_an_override_that_is_left_out_of_turn_takes_those_after_it_along() -> None:
    code = (
        "first, second = bpy.data.objects['Camera'], bpy.data.objects['Light']\n"
        "def within(**what):\n    with bpy.context.temp_override(**what):\n        yield\n"
        "outer, inner = within(active_object=first), within(active_object=second)\n"
        "before = bpy.context.active_object\nnext(outer), next(inner)\n"
        "given = bpy.context.active_object.name\nouter.close()\n"
        "left = bpy.context.active_object == before\ninner.close()\n"
        "result = given, left, bpy.context.active_object == before"
    )
    assert result(code) == ["Light", True, True]


def test_properties_of_other_add_ons() -> None:
    bpy.types.Object.example_secret = bpy.props.StringProperty(default="key")
    try:
        assert "reviewed" in refusal("result = bpy.context.object.example_secret")
        assert result("result = 'example_secret' in bpy.context.object.keys()") is False
    finally:
        del bpy.types.Object.example_secret


def test_texts_that_something_may_run() -> None:
    code = bpy.data.texts.new("code")
    bpy.data.materials["Material"].node_tree.nodes.new("ShaderNodeScript").script = code
    assert "may run it" in refusal("bpy.data.texts['code'].write('x')")
    modules = bpy.context.view_layer.freestyle_settings.modules
    modules.new().script = bpy.data.texts.new("style")
    assert "may run it" in refusal("bpy.data.texts['style'].clear()")


# --- geometry -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "code",
    [
        "bpy.ops.mesh.primitive_grid_add(x_subdivisions=6000, y_subdivisions=6000)",
        "bpy.context.object.modifiers.new('s', 'SUBSURF').levels = 11",
        "bpy.data.meshes.new('m').vertices.add(5 * 10**8)",
        "bpy.data.images.new('i', 40000, 40000)",
        "import bmesh\nbmesh.ops.create_icosphere(bmesh.new(), subdivisions=14)",
    ],
)
def test_what_multiplies_is_refused(code: str) -> None:
    with pytest.raises(LimitExceeded, match=r"more than|too large"):
        result(code)


def test_estimates_are_near_and_not_low() -> None:
    cube = bpy.data.objects["Cube"]
    cube.modifiers.new("s", "SUBSURF").levels = 4
    array = cube.modifiers.new("a", "ARRAY")
    array.count = 5
    real = len(cube.evaluated_get(bpy.context.evaluated_depsgraph_get()).data.vertices)
    assert real <= estimate.estimate(cube) <= 4 * real


def test_settings_of_curves_and_metaballs_that_estimates_read_are_the_ones_that_are_looked_at() -> None:
    read = {
        node.attr
        for rule in (estimate._curve, estimate._points, estimate._metaball)
        for node in ast.walk(ast.parse(inspect.getsource(rule)))
        if isinstance(node, ast.Attribute)
    }
    read -= {"elements", "splines", "points", "bezier_points", "data"}  # what they lead to
    assert read - {"point_count_v"} == estimate.DATA_SETTINGS  # which Blender sets


def test_modifiers_that_multiply_as_they_are_made_are_estimated() -> None:
    with pytest.raises(LimitExceeded, match="more than"):
        result("for n in range(30):\n    bpy.context.object.modifiers.new(f'm{n}', 'ARRAY')")
    assert not bpy.data.objects["Cube"].modifiers
    assert not any(map(estimate.multiplies, ("ARMATURE", "UV_PROJECT", "HOOK")))
    assert all(
        map(
            estimate.multiplies,
            ("SUBSURF", "GREASE_PENCIL_ARRAY", "SMOOTH", "DECIMATE", "NODES", "CLOTH", "PARTICLE_SYSTEM"),
        )
    )


def test_a_function_of_blenders_shows_whose_it_is_and_nothing_of_ours() -> None:
    take = "bpy.context.object.modifiers.new"
    shown, name, same = result(f"f = {take}\nresult = [repr(f), f.__name__, f == {take}]")
    assert shown == "<bound method new of bpy.data.objects['Cube'].modifiers>"
    assert (name, same) == ("new", False)
    for reach in ("f.__self__", "f.__func__", "getattr(f, '__self__')", "f[0]", "list(f)"):
        with pytest.raises((PolicyError, HandlerError)):
            result(f"f = bpy.context.object.modifiers.new\nresult = {reach}")


@pytest.mark.parametrize(
    "use",
    [
        f"o._idname = ({'k, ' * 25})",
        f"o._idname = [{'k, ' * 25}]",
        "o._idname = k",
        "[]; o._idname = 1",
        "[]; {}; o._idname += 1",
    ],
)
@pytest.mark.filterwarnings(
    "ignore::pytest.PytestUnraisableExceptionWarning"
)  # of generators that end after the run
def test_what_is_asked_for_its_type_is_what_is_used(use: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The collector could end a generator between any two steps, and that binds a global name anew.

    It is off while a script runs; the guards hold without that, too.
    """
    monkeypatch.setattr(execute.collector, "off", contextlib.nullcontext)
    script = (
        "class Own: pass\na, target, k, junk = Own(), bpy.ops.mesh.primitive_cube_add, 1, []\na._idname = 0\n"
        "def gen(box):\n    global o\n    try:\n        yield 1\n    finally:\n        o = target\n"
        "def arm():\n    b = Own()\n    b.g = gen(b)\n    for _ in b.g:\n        break\n"
        "for i in range(5000):\n    o = a\n    if i % 40 == 0:\n        arm()\n    junk.append([])\n"
        f"    {use}\nresult = repr(target)"
    )
    shown = []
    with contextlib.suppress(PolicyError, HandlerError):  # or it is written to what may not be
        shown.append(result(script))
    gc.collect()  # the last generators end here, and not in another test
    assert set(shown) <= {"<operator bpy.ops.mesh.primitive_cube_add>"}


def test_a_modifier_that_was_hidden_is_looked_at_when_it_is_shown() -> None:
    modifier = bpy.data.objects["Cube"].modifiers.new("s", "SUBSURF")
    modifier.show_viewport = False
    modifier.levels = 11
    with pytest.raises(LimitExceeded, match="more than"):
        result("bpy.context.object.modifiers['s'].show_viewport = True\nbpy.context.view_layer.update()")
    assert not bpy.data.objects["Cube"].modifiers["s"].show_viewport


def test_what_an_add_on_registered_is_no_custom_property() -> None:
    """Also under a name that C takes for the same: a text ends where it holds a null."""

    def try_all() -> list[str]:
        bpy.types.Object.of_addon = bpy.props.IntProperty()
        bpy.types.ID.of_addon_too = bpy.props.IntProperty()
        names = ("of_addon", "of_addon_too", "of_addon\\0x", "own", "location", '[\\"own\\"]')
        said = []
        for name in names:
            try:
                result(f"bpy.context.object['{name}'] = 1")
                said.append("written")
            except PolicyError as error:
                said.append(str(error)[-42:])
        return said

    told = fork.run(try_all)
    assert all("belongs to an add-on" in each or "use the attribute" in each for each in told[:3])
    assert told[3:] == ["written"] * 3


def test_operators_that_look_into_an_override_do_so_beside_no_thread_of_ours(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Beside a thread that goes on, Blender up to 5.0 crashes (`scene/override.py`)."""
    monkeypatch.setattr(threads, "_LONGEST_STEP_S", 30.0)
    code = """
cube = bpy.data.objects['Cube']
for _ in range(300):
    with bpy.context.temp_override(selected_objects=[cube], active_object=cube):
        bpy.ops.object.select_all(action='TOGGLE')
result = cube.select_get()
"""

    def work() -> bool:
        # newer Blenders pause nobody: there an operator waits for its turn
        settings.set_preferences({"time_limit_s": 60.0})
        busy.start()
        return bool(result(code))

    assert fork.run(work)
