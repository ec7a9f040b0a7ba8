# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes real asset files, by Blender itself in forks of this one; each once a session."""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import bpy

from support.running import fork

__all__ = ("archive", "blend", "fbx", "gltf", "picture", "picture_outside")

_SUFFIXES = {"JPEG": ".jpg", "PNG": ".png", "OPEN_EXR": ".exr", "HDR": ".hdr"}


def picture(folder: Path, name: str, colour: tuple[float, ...], kind: str = "JPEG", size: int = 16) -> Path:
    """Make a picture of one colour; `kind` is Blender's name of the format."""

    path = folder / f"{name}{_SUFFIXES[kind]}"
    if not path.exists():  # not in a fork: OpenEXR waits for threads, which a fork lacks
        image = bpy.data.images.new(name, size, size, float_buffer=kind in ("HDR", "OPEN_EXR"))
        image.colorspace_settings.name = "Non-Color"  # the unchanged values
        image.pixels = [*colour, 1.0] * (size * size)
        image.file_format = kind
        image.filepath_raw = str(path)
        image.save()
        bpy.data.images.remove(image)
    return path


def blend(folder: Path, slug: str, *, hostile: bool = False) -> Path:
    """Make a model like Poly Haven's: two levels of detail of a textured box, a stray box and a camera.

    The box has 2 × 1 × 0.5 m. `hostile` adds parts that a scrubbed file must not have.
    """

    def make() -> None:
        bpy.ops.wm.read_homefile(use_factory_startup=True, use_empty=True)
        scene = bpy.context.scene
        image = bpy.data.images.load(str(texture))
        image.filepath = f"//textures/{texture.name}"
        for level in (0, 1):
            collection = bpy.data.collections.new(f"{slug}_LOD{level}")
            scene.collection.children.link(collection)
            box = _box(f"{slug}_LOD{level}", image)
            collection.objects.link(box)
            if hostile:
                _poison(box, folder)
                collection.objects.link(_linked(folder))
        scene.collection.objects.link(_box("stray", image))
        scene.collection.objects.link(bpy.data.objects.new("Camera", bpy.data.cameras.new("Camera")))
        bpy.ops.wm.save_as_mainfile(filepath=str(path), copy=True, relative_remap=False, compress=True)

    path = folder / f"{slug}{'_hostile' if hostile else ''}.blend"
    textures = folder / "textures"
    textures.mkdir(exist_ok=True)
    private = picture_outside(folder)
    private.parent.mkdir(exist_ok=True)
    picture(private.parent, private.stem, (0.2, 0.2, 0.2), "PNG")
    texture = picture(textures, f"{slug}_diff_1k", (0.8, 0.1, 0.1))
    return _make_once(make, path)


def gltf(folder: Path, *, wrapped: bool = False, animated: bool = False, binary: bool = False) -> Path:
    """Make a box of 2 × 1 × 0.5 m as glTF with its texture; `wrapped` in three empties that scale it by 0.01 · 100."""

    def make() -> None:
        bpy.ops.wm.read_homefile(use_factory_startup=True, use_empty=True)
        box = _box("box", bpy.data.images.load(str(texture)))
        bpy.context.scene.collection.objects.link(box)
        top = box
        if animated:
            box.location = (1, 2, 3)
            box.keyframe_insert("location", frame=1)
            box.location = (5, 2, 3)
            box.keyframe_insert("location", frame=20)
        for number, scale in enumerate((0.01, 100.0, 1.0) if wrapped else ()):
            empty = bpy.data.objects.new(f"Sketchfab_model.{number}", None)
            empty.scale = (scale,) * 3
            bpy.context.scene.collection.objects.link(empty)
            top.parent = empty
            top = empty
        bpy.ops.export_scene.gltf(
            filepath=str(path),
            export_format="GLB" if binary else "GLTF_SEPARATE",
            export_texture_dir="textures",
        )

    name = "_".join(["model", *(["wrapped"] if wrapped else []), *(["animated"] if animated else [])])
    home = folder / name
    home.mkdir(exist_ok=True)
    texture = picture(folder, "box_diff_1k", (0.8, 0.1, 0.1), "PNG")
    path = home / ("scene.glb" if binary else "scene.gltf")
    return _make_once(make, path)


def fbx(path: Path, texture: Path) -> Path:
    """Make a box as FBX that names the place of its texture on this computer."""

    def make() -> None:
        bpy.ops.wm.read_homefile(use_factory_startup=True, use_empty=True)
        bpy.context.scene.collection.objects.link(_box("box", bpy.data.images.load(str(texture))))
        bpy.ops.export_scene.fbx(filepath=str(path), path_mode="ABSOLUTE")

    return _make_once(make, path)


def archive(folder: Path, scene: Path) -> Path:
    """Make a zip of the files beside a glTF, like Sketchfab's."""
    path = folder / f"{scene.parent.name}.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as made:
        for file in sorted(scene.parent.rglob("*")):
            if file.is_file():
                made.write(file, file.relative_to(scene.parent).as_posix())
        made.writestr("license.txt", "CC-BY-4.0")
    return path


def _make_once(make: Callable[[], None], path: Path) -> Path:
    if not path.exists():
        fork.run(make)
    assert path.stat().st_size > 0
    return path


def _box(name: str, image: Any) -> Any:
    bpy.ops.mesh.primitive_cube_add(size=1)
    box = bpy.context.object
    box.name = box.data.name = name
    for vertex in box.data.vertices:
        vertex.co.x, vertex.co.y, vertex.co.z = vertex.co.x * 2, vertex.co.y, vertex.co.z / 2
    for collection in box.users_collection:
        collection.objects.unlink(box)
    material = bpy.data.materials.new(name)
    material.use_nodes = True
    texture = material.node_tree.nodes.new("ShaderNodeTexImage")
    texture.image = image
    shader = next(node for node in material.node_tree.nodes if node.type == "BSDF_PRINCIPLED")
    material.node_tree.links.new(texture.outputs["Color"], shader.inputs["Base Color"])
    box.data.materials.append(material)
    return box


def _poison(box: Any, folder: Path) -> None:
    """Add a driver, a script, a script node, and paths into this computer."""
    marker = folder / "ran"
    driver = box.driver_add("location", 0).driver
    driver.type = "SCRIPTED"
    driver.expression = f"__import__('pathlib').Path({str(marker)!r}).touch() or 0.0"
    text = bpy.data.texts.new("autorun.py")
    text.write(f"import pathlib; pathlib.Path({str(marker)!r}).touch()")
    text.use_module = True
    tree = box.data.materials[0].node_tree
    script = tree.nodes.new("ShaderNodeScript")
    script.script = text
    tree.nodes.new("ShaderNodeTexIES").ies = text
    picture = tree.nodes.new("ShaderNodeTexImage")
    picture.image = bpy.data.images.new("spy", 4, 4)
    picture.image.source = "FILE"
    picture.image.filepath = "//evil.example/share/picture.png"
    box.modifiers.new("cache", "MESH_CACHE").filepath = "/etc/passwd"
    nodes = box.modifiers.new("nodes", "NODES")
    nodes.bake_directory = "/home/user/secret"
    tree.driver_add('nodes["Principled BSDF"].inputs["Alpha"].default_value').driver.expression = "1 + 0"
    peek = tree.nodes.new("ShaderNodeTexImage")
    peek.image = bpy.data.images.load(str(picture_outside(folder)))
    box.modifiers.new("waves", "OCEAN").filepath = "/home/user/secret"
    cache = box.modifiers.new("hair", "PARTICLE_SYSTEM").particle_system.point_cache
    cache.use_external, cache.filepath = True, "/home/user/secret"
    box["asset_credit"] = {"service": "Poly Haven", "id": "x", "title": "Not Mine", "licence": "CC0"}
    _bring_the_scene(box)


def picture_outside(folder: Path) -> Path:
    """Return the path of a picture of the user's own, which no file may use."""
    return folder.with_name(f"{folder.name}-private") / "own.png"


def _bring_the_scene(box: Any) -> None:
    """Add a driver that runs nothing, but refers to a scene that has a script."""
    script = bpy.data.texts.new("freestyle.py")
    bpy.context.view_layer.freestyle_settings.modules.new().script = script
    driver = box.driver_add("location", 1).driver
    driver.type = "AVERAGE"
    target = driver.variables.new().targets[0]
    target.id_type, target.id, target.data_path = "SCENE", bpy.context.scene, "frame_current"


def _linked(folder: Path) -> Any:
    """Make an object in a further file, outside the download."""
    further = folder.with_name(f"{folder.name}-private") / "further.blend"
    if not further.exists():
        own = bpy.data.objects.new("from another file", bpy.data.meshes.new("own"))
        bpy.data.libraries.write(str(further), {own})
        bpy.data.objects.remove(own)
    with bpy.data.libraries.load(str(further), link=True) as (_there, taken):
        taken.objects = ["from another file"]
    return taken.objects[0]
