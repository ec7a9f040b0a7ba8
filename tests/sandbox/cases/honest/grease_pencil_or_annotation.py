import bpy
try:
    bpy.ops.object.grease_pencil_add(type='STROKE')
except (AttributeError, TypeError, RuntimeError):
    bpy.ops.object.gpencil_add(type='STROKE')
ob = bpy.context.object
kind = ob.type
# check: 'PENCIL' in g['kind'] or 'GREASEPENCIL' in g['kind']
