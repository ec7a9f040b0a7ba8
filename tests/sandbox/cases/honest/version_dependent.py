import bpy
if bpy.app.version >= (4, 1, 0):
    bpy.ops.object.shade_smooth()
    try:
        bpy.ops.object.shade_auto_smooth(angle=0.52)
    except (AttributeError, RuntimeError) as e:
        print("no auto smooth:", e)
else:
    bpy.context.object.data.use_auto_smooth = True
major, minor, _ = bpy.app.version
label = f"Blender {major}.{minor} / {bpy.app.version_string}"
bsdf_names = {"Specular IOR Level" if major >= 4 else "Specular"}
print(label)
# check: g['label'].startswith('Blender ')
