import bpy
errors = []
def safe(fn, *args, **kw):
    try:
        return fn(*args, **kw)
    except Exception as e:
        errors.append(f"{type(e).__name__}: {e}")
        return None

safe(lambda: bpy.data.objects["Missing"])
safe(bpy.ops.object.modifier_apply, modifier="Nope")
safe(lambda: bpy.data.materials["Material"].node_tree.nodes["Nope"])
safe(lambda: setattr(bpy.context.object, "rotation_mode", "BAD"))
try:
    bpy.context.object.no_such_attribute
except AttributeError as e:
    errors.append(str(e))
result = errors
# check: len(g['result']) >= 4
