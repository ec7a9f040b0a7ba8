import bpy
obj = bpy.context.object
obj["openness"] = 0.25
ui = obj.id_properties_ui("openness")
ui.update(min=0.0, max=1.0, soft_min=0.0, soft_max=1.0, description="How far open")
d = obj.driver_add("scale", 2).driver
v = d.variables.new()
v.name = "o"
v.targets[0].id = obj
v.targets[0].data_path = '["openness"]'
d.expression = "1 + o * 2 if o > 0.1 else 1"
props = {k: obj[k] for k in obj.keys()}
# check: g['props'] == {'openness': 0.25} and bpy.data.objects['Cube'].animation_data.drivers[0].data_path == 'scale'
