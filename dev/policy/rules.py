# SPDX-License-Identifier: GPL-3.0-or-later
"""The rules behind `sandbox/facts/allowlists`: what scripts may use of Blender, by kind, by struct, by member.

`generate.py` applies these rules to the RNA of every supported Blender and writes the allow-lists. The guard reads the
lists, not the rules: what a new Blender adds stays refused until the lists are generated again and a person has read
the difference (`make policy-diff`).

A pattern is a regular expression that must match the whole name.
"""

from __future__ import annotations

import re

__all__ = ("allows_function", "allows_operator", "allows_struct", "allows_write", "is_readable")


def _any(*patterns: str) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{p})" for p in patterns))


# --- structs ------------------------------------------------------------------------------------------------

#: Structs of which nothing may be read: user interface, preferences, add-ons, keymaps, files, programs, engines,
#: and whatever runs a script.
HIDDEN_STRUCTS = _any(
    "Addon.*|Preferences.*|Theme.*|ThemeSettings|User(?!SolidLight).*|StudioLight.*|UserSolidLight|Script.*|PathCompare.*",
    "KeyConfig.*|KeyMap.*|Event|Timer|wmTools|wmOwner.*|WorkSpaceTool|Xr.*|Gizmo.*",
    "Operator.*|Macro|Panel|Menu|Header|UI(?!.*UV).*|AssetShelf.*|FileHandler|KeyingSetInfo|LayoutPanelState",
    "RenderEngine|CyclesRenderEngine|HydraRenderEngine|USDHook|NodeInternalSocketTemplate",
    "File.*|SpaceFileBrowser|SpaceConsole|ConsoleLine|SpaceTextEditor|SpacePreferences|SpaceInfo|Asset.*",
    "LibraryWeak.*|IDOverrideLibrary.*|BlendImport.*|BlendData(?:Libraries|Volumes|CacheFiles|Sounds|MovieClips|Fonts)",
    "CacheFile.*|PackedFile|ImagePackedFile|CollectionExport.*|CompositorNodeOutputFile.*|NodeOutputFile.*",
    "NodeCompositorFileOutput.*|ShaderNodeScript|GeometryNodeImport.*|FreestyleModule.*",
    "VolumeGrid.*|SequenceProxy|StripProxy|MovieClipProxy|MeshCacheModifier|MeshSequenceCacheModifier",
    "NodeCustomGroup|.*NodeCustomGroup|IDPropertyWrapPtr|UnknownType|AnyType|SpreadsheetRow.*",
    "PropertyGroupItem|NodeInstanceHash|BlenderRNA|Hydra.*|CompositorNodeSequencer.*",
    "NodesModifierDataBlock|NodesModifierBake.*|BoidRule.*Script.*|PoseAsset.*|ActionAsset.*",
)

#: Readable structs that a script may not change at all: they belong to the session, not to the scene.
READ_ONLY_STRUCTS = _any(
    "Context|BlendData|Depsgraph.*|Region|Screen|Area|AreaSpaces|WindowManager|WorkSpace|Brush.*|Space(?!View3D).*",
    "Property|.*Property|Struct|Function|EnumPropertyItem|Histogram|Scopes|.*Capabilities.*|RenderResult",
    "RenderLayer|RenderPass.*|ImagePreview|Sound|MovieClip|VectorFont|Volume(?!ToMesh|Displace|Display|Render).*",
    "MotionPath.*|PointCacheItem|ViewerPath.*|SpaceUVEditor|SpaceImageOverlay|SpaceNodeOverlay|View2D",
    "StringProperty|DopeSheet|SpreadsheetColumn.*",
)

#: Properties that Python add-ons register on Blender's types: Cycles is part of Blender, all others are refused.
RUNTIME_PROPERTIES = _any("cycles|cycles_curves")
#: Blender's own nodes, which define the choices of a node (`mode`, `data_type`, …) while they are registered.
NODE_STRUCTS = _any(
    "(?:Geometry|Function|Shader|Compositor)Node(?!CustomGroup|Tree).*",
    "Node(?:EnableOutput|GetBundleItem|StoreBundleItem)",  # nodes of several kinds of trees
)
CYCLES_STRUCTS = _any("Cycles(?!RenderEngine|Preferences|Device).*")

# --- properties ----------------------------------------------------------------------------------------------

#: Properties that scripts may not read: `Struct.property`.
HIDDEN_PROPERTIES = _any(
    r"Context\.preferences|BlendData\.(?:libraries|volumes|cache_files|use_autopack|hair_curves_experimental)",
    r"WindowManager\.(?!windows$|name$|name_full$|bl_rna$).*",
    r"Window\.(?!screen$|scene$|view_layer$|workspace$|width$|height$|x$|y$|parent$|modal_operators$).*",
    r"Library\..*",
    r"WorkSpace\.(?!name$|name_full$|screens$).*",
    r"ID\.(?:preview|asset_data|override_library|library_weak_reference|runtime_data)",
    r".*\.(?:packed_file|packed_files|bytecode|bytecode_hash|custom_bytecode|custom_bytecode_hash)",
    # Blender frees these when they are read, and shows freed memory.
    r"Curves\.normals",
    # Blender finds a curve's points where a script has written there; without a curve the list has an item nowhere.
    r"Curves\.curve_offset_data|GreasePencilDrawing\.curve_offsets",
    # Blender makes a layer when these are read, which moves the mesh's other layers in memory.
    r"MeshUVLoopLayer\.(?:edge_selection|pin|vertex_selection)",
    # Reading the palette of these tool settings kills Blender 4.2.
    r"ToolSettings\.uv_sculpt|UvSculpt\.palette|Paint\.palette",
    # Blender 4.5 crashes, as by `pair_with_output`.
    r"GeometryNodeClosureInput\.paired_output",
    r"Area\.(?!type$|ui_type$|spaces$|regions$|x$|y$|width$|height$|show_menus$).*",
    r"Text\.(?:as_module)|Scene\.(?:sequence_editor_proxy|collada.*)",
    r"Camera\.custom_(?:shader|mode|filepath).*|CyclesCameraSettings\.custom_(?!params).*",
    r".*\.bl_system_properties_get|Node\.bl_static_type",
)

#: Properties that scripts may read and not write, although RNA would allow it: `Struct.property`.
FIXED_PROPERTIES = _any(
    # These run code, or make a later load run it.
    r"Text\.(?:use_module|filepath|is_.*)|Driver\.use_self|.*\.use_self",
    r"CyclesRenderSettings\.shading_system|.*\.(?:use_script|script|freestyle_module)",
    r"Freestyle(?:Settings|LineSet)\.mode|RenderSettings\.use_freestyle_script",
    # Names of classes, tools and programs.
    r".*\.bl_(?:idname|label|description|icon|width.*|height.*|owner.*|space.*|region.*|context|subtype_label|rna)",
    r"GeometryNodeTree\.(?:node_tool_idname|is_tool.*)|Node\.(?:type)",
    # Changes the type but not the value, which Blender then reads wrongly: `socket_type` changes both.
    r"NodeTreeInterfaceSocket\.bl_socket_idname",
    # Files: a path, or where a cache or a movie lies; what a texture's output calls so is only its name.
    r"(?!TextureNodeOutput\.).*\.(?:filepath\w*|directory|.*_directory|.*_filepath|cache_path|image_output_path|base_path|object_path)",
    r".*\.(?:use_external|use_disk_cache|use_library_path|use_custom_path|use_proxy.*|proxy_.*)",
    r"FluidDomainSettings\.(?:cache_directory|cache_\w+_format|export_.*|openvdb_.*|delete_.*|is_.*|has_.*)",
    r"PointCache\.(?:name|filepath|use_.*|index)",
    r"DynamicPaintSurface\.(?:image_output_path|output_name_.*|image_fileformat|use_output_.*)",
    r"OceanModifier\.(?:filepath|is_cached|bake.*)|ImageFormatSettings\.(?:has_.*)",
    # Blender 4.2 to 4.5 make a layer with an entry for each face and write one for each corner.
    r"MeshUVLoop\.(?:pin_uv|select|select_edge)",
    # The session: what is open, playing, locked or shared.
    r"ID\.(?:use_extra_user|is_runtime_data|is_.*|tag|asset_.*)|Scene\.is_nla_tweakmode",
    r"Window\.(?!scene$|view_layer$).*|Object\.(?:is_.*|use_dynamic_topology.*|mode)",
    r"SpaceView3D\.(?!shading|overlay|clip_.*|lens|camera|lock_.*|use_.*camera.*|show_.*|region_.*).*",
    r"Screen\..*|RenderSettings\.(?:bake|use_sequencer_override.*)|Image\.(?:bindcode|render_slots)",
    r"ViewLayer\.(?:active_.*module)|MovieClip\..*|UnitSettings\.(?:is_.*)",
)

#: Texts that are neither name nor label and therefore need a check of their value; see blender/properties/writers.py.
PATH_SUBTYPES = frozenset({"FILE_PATH", "DIR_PATH", "BYTE_STRING", "FILE_NAME", "PASSWORD"})
#: Path properties that may be written after a check of the value.
CHECKED_PATHS = frozenset({"RenderSettings.filepath"})
#: Byte strings that are plain data.
PLAIN_BYTES = frozenset({"StringAttributeValue.value"})

# --- functions -----------------------------------------------------------------------------------------------

#: Functions that scripts may not call: `Struct.function`.
HIDDEN_FUNCTIONS = _any(
    # Files, programs, packed data, other threads and processes.
    r"Library\..*|.*\.(?:load|load_.*|save|save_.*|unpack|export.*|alembic_.*|collada_.*|reload|bake|.*_graphviz|.*_gnuplot)",
    r"Image\.(?:save.*|reload|gl_.*|filepath_from_user|unpack|buffers_free)|Sound\..*|VectorFont\..*",
    r"(?:Sequence|Strip)Elements\.append|MovieClip.*|Volume.*|VolumeGrids.*|MovieStrip\..*|MovieSequence\..*|.*\.(?:new_movie|new_image|new_sound|new_clip)",
    r"AssetLibrary.*|ID\.(?:asset_.*|override_.*|user_clear|preview_ensure|user_of_id|generate_preview|make_local)",
    r"BlendData\.(?:batch_remove|orphans_purge|temp_data|.*file.*|.*libr.*|pack_.*|pack_linked.*)",
    r"BlendData(?:Screens|WorkSpaces|WindowManagers|Libraries|Brushes|Texts|Palettes|PaintCurves)\..*(?:load|tag).*",
    r"BlendData.*\.tag|BlendDataBrushes\..*",
    # The session and the window.
    r"WindowManager\.(?!progress_begin$|progress_update$|progress_end$).*|Window\..*|Screen\.(?!statusbar_info$).*",
    r"Area\.(?!tag_redraw$).*|Region\.(?!tag_redraw$).*|WorkSpace.*|Space(?!View3D).*|SpaceView3D\.draw_.*",
    r".*\.(?:draw_.*|register.*|unregister.*|append_.*|define|is_extended|template_.*|input_template|output_template)",
    r".*\.(?:poll|poll_instance|init|copy_.*handler|free|socket_value_update|update_.*handler|draw.*|bl_.*)",
    # Registered code and scripts.
    r"Text\.(?:as_module|is_syntax.*|region_from_string|region_as_string)|Freestyle.*Modules.*",
    r"KeyingSetInfo.*|RenderEngine.*|Depsgraph\.(?:debug_.*)|Curves\.unit_test.*|CompositorNode\.tag_need_exec",
    r"RenderSettings\..*|Scene\.(?:alembic.*|collada.*|uvedit_.*|sequence_.*proxy.*|sequencer_.*)",
    r"AnimData\.fix_paths.*|Node\.(?:poll.*|debug_.*)|GreasePencil.*\.bake.*|PreviewImage.*|ImagePreview.*",
    # Callbacks that Blender itself makes, tests, and functions that read freed memory.
    r".*\.unit_test_compare|Node\.(?:update|insert_link|is_registered_node_type)|NodeTree\.(?!contains_tree$|interface_update$|update$).*",
    r"NodeTreeInterfaceSocket\..*|ShaderNodeTexPointDensity\..*|Object\.(?:crazyspace_.*|cache_release)",
    r"Pose\.backup_.*|KeyingSet\.refresh|Screen\..*|Windows\..*",
    r"RenderResult\..*|RenderLayer\..*|RenderPasses\..*|Object\.generate_gpencil_strokes|PackedFile.*",
    # Blender 4.5 crashes, as when it is asked for `paired_output`.
    r"GeometryNodeClosureInput\.pair_with_output",
)

#: Functions with a path or bytes among their parameters that are allowed after a check of the call.
CHECKED_FUNCTIONS = frozenset({"Image.pack"})

#: Members that Blender defines in Python; everything else in Python is refused.
PYTHON_MEMBERS = frozenset(
    """
    Texture.users_material Texture.users_object_modifier Bone.basename Bone.center
    Bone.children_recursive Bone.children_recursive_basename Bone.parent_index Bone.parent_recursive
    Bone.translate Bone.vector Bone.x_axis Bone.y_axis Bone.z_axis EditBone.align_orientation
    EditBone.basename EditBone.center EditBone.children EditBone.children_recursive
    EditBone.children_recursive_basename EditBone.parent_index EditBone.parent_recursive
    EditBone.transform EditBone.translate EditBone.vector EditBone.x_axis EditBone.y_axis
    EditBone.z_axis PoseBone.basename PoseBone.center PoseBone.children PoseBone.children_recursive
    PoseBone.children_recursive_basename PoseBone.parent_index PoseBone.parent_recursive
    PoseBone.translate PoseBone.vector PoseBone.x_axis PoseBone.y_axis PoseBone.z_axis
    BoneCollection.bones_recursive Collection.children_recursive Collection.users_dupli_group
    Mesh.edge_creases Mesh.edge_creases_ensure Mesh.edge_creases_remove Mesh.edge_keys
    Mesh.from_pydata Mesh.shade_flat Mesh.shade_smooth Mesh.vertex_creases
    Mesh.vertex_creases_ensure Mesh.vertex_creases_remove Mesh.vertex_paint_mask
    Mesh.vertex_paint_mask_ensure Mesh.vertex_paint_mask_remove MeshEdge.key MeshLoopTriangle.center
    MeshLoopTriangle.edge_keys MeshPolygon.edge_keys MeshPolygon.loop_indices NodeSocket.links
    Object.children Object.children_recursive Object.users_collection Object.users_scene
    Object.evaluated_geometry GreasePencilDrawing.strokes ViewLayer.aovs_ensure Annotation.strokes
    Action.fcurves_all
    """.split()
)

# --- operators -----------------------------------------------------------------------------------------------

#: Modules whose operators work on scene data and are allowed unless named below.
DATA_MODULES = frozenset(
    """
    action anim armature boid collection constraint curve curves font geometry gpencil graph
    grease_pencil lattice marker material mball mesh nla object paint palette particle pointcloud
    pose rigidbody sculpt surface texture transform uv world
    """.split()
)

#: Single operators of other modules.
EXTRA_OPERATORS = frozenset(
    """
    image.new image.invert image.resize image.flip image.pack node.new_geometry_nodes_modifier
    node.new_geometry_node_group_assign node.new_node_tree outliner.collection_new
    outliner.collection_isolate ptcache.add ptcache.remove ptcache.free_bake ptcache.free_bake_all
    scene.new scene.view_layer_add scene.view_layer_remove scene.view_layer_add_aov
    scene.view_layer_remove_aov scene.view_layer_add_lightgroup
    scene.view_layer_add_used_lightgroups scene.view_layer_remove_lightgroup
    scene.view_layer_remove_unused_lightgroups scene.render_view_add scene.render_view_remove
    scene.freestyle_lineset_add scene.freestyle_lineset_remove scene.freestyle_linestyle_new
    screen.frame_jump screen.keyframe_jump screen.marker_jump screen.frame_offset
    view3d.camera_to_view view3d.camera_to_view_selected view3d.object_as_camera view3d.localview
    view3d.snap_cursor_to_active view3d.snap_cursor_to_center view3d.snap_cursor_to_grid
    view3d.snap_cursor_to_selected view3d.snap_selected_to_active view3d.snap_selected_to_cursor
    view3d.snap_selected_to_grid view3d.toggle_shading view3d.toggle_xray view3d.view_all
    view3d.view_axis view3d.view_camera view3d.view_selected view3d.view_persportho
    view3d.view_orbit view3d.view_lock_to_active view3d.view_lock_clear nla.bake fluid.free_all
    dpaint.surface_slot_add dpaint.surface_slot_remove dpaint.type_toggle mask.new
    sequencer.select_all
    """.split()
)

HIDDEN_OPERATORS = _any(
    # Operators that evaluate text, run registered code, or hand a driver to the user interface.
    r"anim\.(?:update_animated_transform_constraints|.*driver.*|keying_set_export|.*_button.*|keyingset_.*)",
    r"anim\.(?:channels?_(?:view|click|rename|select_box|box).*|view_curve.*|keying_set_(?!add|remove|active).*)",
    r"object\.(?:assign_property_defaults|add_modifier_menu|.*_tool.*|run_.*)|geometry\.execute_node_group",
    r"graph\.(?:driver_.*|sound_to_samples|.*sound.*)|constraint\..*script.*",
    # Files, caches and bakes: they write, block, or both.
    r".*\.(?:.*bake(?!_to_keyframes$|_keys$|_clear$).*|.*_external_.*|.*export.*|.*import.*|.*_file.*|load_.*|.*preset.*)",
    r"object\.(?:volume_import|empty_image_add|drop_named_.*|.*asset_drop|.*_override_.*|.*override.*|simulation_.*)",
    r"object\.(?:collection_external_asset_drop|data_instance_add|drop_.*|volume_add|quick_(?:fur|smoke|liquid))",
    r"object\.(?:lineart_.*|make_local|lightprobe_cache_.*|geometry_node.*bake.*|transform_to_mouse|voxel_size_edit)",
    r"nla\.(?:soundclip_add|channels_click|click_select|view_.*)|marker\.make_links_scene",
    r"gpencil\.(?:image_to_grease_pencil|trace_image|convert_old_files|bake_.*)|grease_pencil\.trace_image",
    r"font\.(?:open|unlink|text_paste.*|text_copy|text_cut|.*file.*)|palette\.extract_from_image",
    r"paint\.(?:image_from_view|project_image|image_paint|grab_clone|sample_color|add_texture_paint_slot)",
    r"world\.convert_.*|surface\..*file.*|collection\.(?:export.*|importer.*)",
    # The clipboard and Blender's own copy buffers, which are files.
    r"(?:action|graph|pose|nla|gpencil|grease_pencil|material|object|texture|uv)\.(?:copy|paste|slot_copy|slot_paste)",
    r"object\.(?:copy|paste)_.*transform|object\.camera_custom_update|anim\.(?:copy|paste)_.*|.*\.clipboard_.*|pose\.selection_set_(?:copy|paste)|constraint\.copy",
    # Operators that wait for the mouse: strokes, gestures, picking and modal tools.
    r".*\.(?:.*_pick|.*_gesture|.*gesture.*|.*brush_stroke|draw|pen|annotate|.*_lasso|.*_box|.*_circle_select|.*_modal.*)",
    r".*\.(?:knife_tool|knife_project|.*_at_cursor.*|clickselect|.*click.*|vertex_paint|weight_paint|.*_edge_slide_modal)",
    r"mesh\.(?:rip.*|polybuild_.*|dupli_extrude_cursor|primitive_cube_add_gizmo|loop_multi_select_pick)",
    r"paint\.(?:vertex_paint|weight_paint|weight_gradient|weight_sample.*|.*_select_.*pick)",
    r"transform\.(?:from_gizmo|edge_slide|vert_slide|seq_slide|rotate_normal|trackball)",
    r"(?:action|graph|nla|marker|uv)\.(?:view_.*|frame_jump|select_(?:box|circle|lasso|leftright|column|.*mouse).*)",
    r"sculpt\.(?!dynamic_topology_toggle$|sculptmode_toggle$|symmetrize$|mask_init$|face_sets_init$|face_sets_create$).*",
    r"particle\.(?:brush_edit|select_.*pick)|particle\..*preset.*|pose\.(?:breakdown|push|relax|blend_.*)",
    r"gpencil\.(?:draw|fill|annotat.*|guide_rotate|interpolate.*|primitive_.*|segment_.*|sculpt_.*|.*_paint.*|select_.*)",
    r"grease_pencil\.(?:fill|.*paint.*|primitive_.*|interpolate.*|pen|stroke_cutter|.*erase.*|select_.*pick)",
    r"rigidbody\..*preset.*|armature\.click_extrude|curve\.(?:draw|pen|vertex_add|click.*)|curves\.(?:draw|pen)",
    r"paint\.(?:hide_show.*gesture|mask_.*gesture)|uv\.(?:select_(?:edge_ring|loop|.*pick)|rip.*|.*slide.*)",
    # Operators that crash Blender without a UV editor or an animation editor (5.0 on).
    r"uv\.(?:move_on_axis|stitch)|anim\.slot_channels_move_to_new_action",
)


def allows_struct(name: str, bases: list[str]) -> bool:
    """Return whether anything of a struct may be read; a struct is hidden if it or one of its bases is."""
    return not any(HIDDEN_STRUCTS.fullmatch(n) for n in (name, *bases))


def is_readable(struct: str, name: str, *, runtime: bool, subtype: str, target_hidden: bool) -> bool:
    """Return whether the property `struct.name` may be read."""
    path = f"{struct}.{name}"
    known = (
        RUNTIME_PROPERTIES.fullmatch(name)
        or CYCLES_STRUCTS.fullmatch(struct)
        or NODE_STRUCTS.fullmatch(struct)
    )
    if runtime and not known:
        return False
    if target_hidden or HIDDEN_PROPERTIES.fullmatch(path) or subtype == "PASSWORD":
        return False
    return subtype != "BYTE_STRING" or path in PLAIN_BYTES


def allows_write(struct: str, name: str, *, subtype: str) -> bool:
    """Return whether the property `struct.name`, readable and writable in RNA, may be written."""
    path = f"{struct}.{name}"
    if path in CHECKED_PATHS or path in PLAIN_BYTES:
        return True
    if subtype in PATH_SUBTYPES or READ_ONLY_STRUCTS.fullmatch(struct):
        return False
    return not FIXED_PROPERTIES.fullmatch(path)


def allows_function(struct: str, name: str, *, takes_path: bool) -> bool:
    """Return whether the function `struct.name` may be called."""
    if f"{struct}.{name}" in CHECKED_FUNCTIONS:
        return True
    return not takes_path and not HIDDEN_FUNCTIONS.fullmatch(f"{struct}.{name}")


def allows_operator(idname: str, *, takes_path: bool) -> bool:
    """Return whether an operator may be called."""
    if idname in EXTRA_OPERATORS:
        return True
    if takes_path or idname.partition(".")[0] not in DATA_MODULES:
        return False
    return not HIDDEN_OPERATORS.fullmatch(idname)
