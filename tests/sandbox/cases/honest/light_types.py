import bpy, math
specs = {
    'POINT': dict(energy=200, shadow_soft_size=0.3),
    'SUN': dict(energy=3, angle=math.radians(2)),
    'SPOT': dict(energy=500, spot_size=math.radians(45), spot_blend=0.2),
    'AREA': dict(energy=100, shape='RECTANGLE', size=1, size_y=2),
}
for i, (kind, attrs) in enumerate(specs.items()):
    data = bpy.data.lights.new(f"L_{kind}", kind)
    for k, v in attrs.items():
        setattr(data, k, v)
    if hasattr(data, "use_shadow"):
        data.use_shadow = True
    o = bpy.data.objects.new(data.name, data)
    o.location = (i * 2, 0, 4)
    bpy.context.collection.objects.link(o)
values = {l.name: getattr(l, 'energy', None) for l in bpy.data.lights}
# check: bpy.data.lights['L_AREA'].size_y == 2 and g['values']['L_SUN'] == 3
