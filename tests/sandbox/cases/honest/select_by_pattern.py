import bpy, fnmatch as fm
names = [o.name for o in bpy.data.objects if fm.fnmatch(o.name, "C*")]
# check: len(g['names']) == 2
