import bpy
from bpy_extras import anim_utils, mesh_utils
from bpy_extras.object_utils import object_data_add

# A closed fence of posts: its outline is found again from its edges, and each post is keyed.
corners = [(0, 0, 0), (4, 0, 0), (4, 3, 0), (0, 3, 0)]
outline = bpy.data.meshes.new("Outline")
outline.from_pydata(corners, [(0, 1), (1, 2), (2, 3), (3, 0)], [])
fence = object_data_add(bpy.context, outline, name="Fence")

loops = mesh_utils.edge_loops_from_edges(outline)
for place, index in enumerate(loops[0][:-1]):
    post = bpy.data.objects.new(f"Post {place}", None)
    post.empty_display_type = "SINGLE_ARROW"
    post.location = outline.vertices[index].co
    post.parent = fence
    bpy.context.collection.objects.link(post)
    post.keyframe_insert("location", frame=1)
    post.location.z = 0.5 * place
    post.keyframe_insert("location", frame=20)
    action = post.animation_data.action
    if hasattr(anim_utils, "action_get_channelbag_for_slot"):
        bag = anim_utils.action_get_channelbag_for_slot(action, post.animation_data.action_slot)
        curves = bag.fcurves
    else:
        curves = action.fcurves
    curves[2].keyframe_points[0].interpolation = "LINEAR"

result = [len(each) for each in loops]
