import bpy, os, platform, shutil, struct, sys, tempfile
import bpy.props
packed = struct.pack("<6f", 0, 0, 0, 1, 2, 3)
try:
    struct.unpack("<2f", packed[:5])
except struct.error as error:
    print("too short:", error)
corner = struct.Struct("<3f")
verts = [corner.unpack_from(packed, start) for start in range(0, len(packed), corner.size)]
verts += [(x, y, z + 1.0) for x, y, z in corner.iter_unpack(packed)]
mesh = bpy.data.meshes.new("Packed")
mesh.from_pydata(verts, [(0, 1), (2, 3)], [])
bpy.context.collection.objects.link(bpy.data.objects.new("Packed", mesh))
out = os.path.join(tempfile.gettempdir(), "shots") if platform.system() else bpy.path.abspath("//shots")
if not shutil.which("ffmpeg-that-nobody-has"):
    print("no encoder beside", sys.executable or "this Blender", out)
bpy.context.scene["folder"] = bpy.path.basename(bpy.path.abspath("//shots/last"))
bpy.context.scene["beside"] = bpy.path.relpath("/projects/textures/wood.png", start="/projects/scenes")
# check: len(D.meshes['Packed'].edges) == 2 and C.scene['folder'] == 'last' and C.scene['beside'] == '//../textures/wood.png'
