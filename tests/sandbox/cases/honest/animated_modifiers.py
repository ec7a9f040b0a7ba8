# Modifiers driven and keyframed: a count by a custom property, levels over time, a width by a lamp's place.
import bpy

cube = bpy.context.object
cube["copies"] = 5
array = cube.modifiers.new("Array", "ARRAY")
driver = array.driver_add("count").driver
variable = driver.variables.new()
variable.name = "copies"
variable.targets[0].id = cube
variable.targets[0].data_path = '["copies"]'
driver.expression = "copies * 2"

subsurf = cube.modifiers.new("Subdivision", "SUBSURF")
for frame, levels in ((1, 1), (20, 3)):
    subsurf.levels = levels
    subsurf.keyframe_insert("levels", frame=frame)

bevel = cube.modifiers.new("Bevel", "BEVEL")
width = bevel.driver_add("width").driver
width.type = "SUM"
place = width.variables.new()
place.type = "TRANSFORMS"
place.targets[0].id = bpy.data.objects["Light"]
place.targets[0].transform_type = "LOC_X"

screw = bpy.data.objects.new("Screw", bpy.data.meshes.new("Line"))
screw.data.from_pydata([(1, 0, 0), (1, 0, 1)], [(0, 1)], [])
bpy.context.collection.objects.link(screw)
turn = screw.modifiers.new("Screw", "SCREW")
turn.driver_add("angle").driver.expression = "frame * 0.1"
turn.steps = 32
turn.keyframe_insert("steps", frame=1)
bpy.context.scene.frame_set(20)
# check: cube.modifiers["Array"].count == 10 and cube.modifiers["Subdivision"].levels == 3 if (cube := bpy.data.objects["Cube"]) else False
