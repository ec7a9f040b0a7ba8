import bpy
scene = bpy.context.scene
scene["settings"] = {"quality": 3, "tags": ["a", "b"], "origin": (0.0, 1.0, 2.0)}
scene["settings"]["quality"] += 1
obj = bpy.context.object
obj["target"] = bpy.data.objects["Camera"]
obj["numbers"] = [1, 2, 3]
obj["numbers"][1] = 20
q = scene["settings"]["quality"]
nums = list(obj["numbers"])
has = "target" in obj
name = obj["target"].name
del obj["target"]
gone = obj.get("target", "gone")
# check: g['q'] == 4 and g['nums'] == [1, 20, 3] and g['has'] and g['gone'] == 'gone' and g['name'] == 'Camera'
