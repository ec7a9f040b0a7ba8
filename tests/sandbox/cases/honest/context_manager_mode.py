import bpy
from contextlib import contextmanager

@contextmanager
def mode(name):
    old = bpy.context.object.mode
    bpy.ops.object.mode_set(mode=name)
    try:
        yield bpy.context.object
    finally:
        bpy.ops.object.mode_set(mode=old)

with mode('EDIT') as ob:
    bpy.ops.mesh.select_all(action='SELECT')
    bpy.ops.mesh.subdivide(number_cuts=1, smoothness=0.0)
count = len(bpy.context.object.data.vertices)
# check: g['count'] == 26 and bpy.context.mode == 'OBJECT'
