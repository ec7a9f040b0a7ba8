"""Rotate the wheels from the car's distance with drivers."""
import bpy
car = bpy.data.objects.new("Car", None)
bpy.context.collection.objects.link(car)
for i in range(4):
    bpy.ops.mesh.primitive_cylinder_add(radius=0.35, depth=0.2, location=(i // 2 * 2 - 1, i % 2 * 1.6 - 0.8, 0.35), rotation=(1.5708, 0, 0))
    wheel = bpy.context.object
    wheel.name = f"Wheel.{i}"
    wheel.parent = car
    fcurve = wheel.driver_add("rotation_euler", 1)
    drv = fcurve.driver
    drv.type = 'SCRIPTED'
    var = drv.variables.new()
    var.name = "dist"
    var.type = 'SINGLE_PROP'
    var.targets[0].id = car
    var.targets[0].data_path = "location.x"
    drv.expression = "dist / 0.35"
car.location.x = 2
bpy.context.view_layer.update()
angle = bpy.data.objects["Wheel.0"].rotation_euler.y
# check: bpy.data.objects['Wheel.2'].animation_data.drivers[0].driver.expression == 'dist / 0.35'
