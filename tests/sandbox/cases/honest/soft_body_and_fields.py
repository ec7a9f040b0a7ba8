import bpy
bpy.ops.object.effector_add(type='WIND', location=(0, -3, 0))
wind = bpy.context.object
wind.field.strength = 50
wind.field.flow = 0.5
cube = bpy.data.objects["Cube"]
sb = cube.modifiers.new("Soft", 'SOFT_BODY')
cube.soft_body.mass = 0.5
cube.soft_body.use_goal = False
cube.soft_body.effector_weights.gravity = 0.5
# check: bpy.data.objects['Cube'].soft_body.mass == 0.5
