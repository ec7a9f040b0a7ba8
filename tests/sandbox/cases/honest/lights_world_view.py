import bpy, math
w = bpy.data.worlds.new("Studio"); bpy.context.scene.world = w; w.use_nodes = True
bg = w.node_tree.nodes["Background"]; bg.inputs[0].default_value = (0.02, 0.02, 0.03, 1); bg.inputs["Strength"].default_value = 0.4
for name, e, size, loc, rot in [("Key", 800, 3, (4, -4, 5), (45, 0, 45)), ("Fill", 200, 5, (-5, -3, 3), (60, 0, -60)), ("Rim", 400, 1, (0, 5, 4), (-50, 0, 0))]:
    l = bpy.data.lights.new(name, type="AREA"); l.energy = e; l.shape = "DISK"; l.size = size; l.color = (1, 0.95, 0.9)
    o = bpy.data.objects.new(name, l); o.location = loc; o.rotation_euler = [math.radians(a) for a in rot]; bpy.context.collection.objects.link(o)
s = bpy.context.scene
s.render.engine = "CYCLES"; s.cycles.samples = 128; s.cycles.use_denoising = True; s.view_settings.view_transform = "AgX"; s.view_settings.look = "AgX - Medium High Contrast"; s.view_settings.exposure = 0.3
s.render.film_transparent = True; s.render.image_settings.file_format = "PNG"; s.render.image_settings.color_mode = "RGBA"; s.render.filepath = "//renders/product_"
s.unit_settings.system = "METRIC"; s.unit_settings.length_unit = "CENTIMETERS"
for area in bpy.context.screen.areas if bpy.context.screen else []:
    if area.type == "VIEW_3D":
        for sp in area.spaces:
            if sp.type == "VIEW_3D": sp.shading.type = "MATERIAL"; sp.overlay.show_floor = False
result = [o.name for o in s.objects if o.type == "LIGHT"]
# check: len(g['result']) == 4
