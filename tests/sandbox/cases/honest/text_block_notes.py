import bpy
notes = bpy.data.texts.get("Notes") or bpy.data.texts.new("Notes")
notes.clear()
notes.write("Scene built by assistant\n")
notes.write("Objects: " + ", ".join(o.name for o in bpy.data.objects))
lines = [l.body for l in notes.lines]
# check: g['lines'][0] == 'Scene built by assistant' and 'Cube' in bpy.data.texts['Notes'].as_string()
