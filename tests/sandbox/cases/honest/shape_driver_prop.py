import bpy
ob = bpy.data.objects["Cube"]
ob.shape_key_add(name="Basis"); k = ob.shape_key_add(name="Tall", from_mix=False)
for v, d in zip(ob.data.vertices, k.data):
    if v.co.z > 0: d.co.z += 1.5
ob["stretch"] = 0.5
ui = ob.id_properties_ui("stretch"); ui.update(min=0.0, max=1.0, soft_min=0.0, soft_max=1.0, description="How tall")
ob["tags"] = ["hero", "prop"]; ob["meta"] = {"author": "me", "size": [1.0, 2.0, 3.0], "nested": {"a": 1}}
ob["meta"]["version"] = 2
fc = k.driver_add("value"); d = fc.driver; d.type = "SCRIPTED"
v = d.variables.new(); v.name = "s"; v.type = "SINGLE_PROP"; v.targets[0].id = ob; v.targets[0].data_path = '["stretch"]'
d.expression = "min(max(s * 1.2, 0), 1)"
bpy.context.view_layer.update()
ob.property_overridable_library_set if False else None
keys = sorted(ob.keys()); meta = ob["meta"].to_dict()
result = meta, keys, list(ob["meta"]["size"])
# check: g['meta']['version'] == 2 and 'stretch' in g['keys']
