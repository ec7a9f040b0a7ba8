import bpy
wm = bpy.context.window_manager
wm.progress_begin(0, 10)
for i in range(10):
    wm.progress_update(i)
wm.progress_end()
for o in bpy.data.objects:
    print(o.name.ljust(12), str(o.type).rjust(8), "%6.2f" % o.location.length)
print(*[1, 2, 3], sep=", ")
print(repr(bpy.context.object), str(bpy.context.object.location))
# check: True
