import bpy
from collections import Counter
scene = bpy.context.scene
report = {
    "name": scene.name,
    "frame": (scene.frame_start, scene.frame_current, scene.frame_end),
    "objects": [],
    "types": dict(Counter(o.type for o in scene.objects)),
    "materials": sorted(m.name for m in bpy.data.materials),
    "unit": scene.unit_settings.system,
    "active": bpy.context.active_object.name if bpy.context.active_object else None,
    "mode": bpy.context.mode,
    "file": bpy.data.filepath,
}
for o in scene.objects:
    report["objects"].append({
        "name": o.name, "type": o.type,
        "location": [round(c, 3) for c in o.location],
        "dimensions": tuple(o.dimensions),
        "visible": o.visible_get(),
        "parent": o.parent.name if o.parent else None,
        "modifiers": [m.type for m in o.modifiers],
        "bound": [tuple(c) for c in o.bound_box][:2],
    })
result = report
print(len(report["objects"]), "objects")
# check: g['result']['types'] == {'MESH': 1, 'LIGHT': 1, 'CAMERA': 1} and g['result']['active'] == 'Cube'
