import bpy, random
random.seed(3)
mb = bpy.data.metaballs.new("Blob")
mb.resolution = 0.2
mb.threshold = 0.5
ob = bpy.data.objects.new("Blob", mb)
bpy.context.collection.objects.link(ob)
for _ in range(8):
    el = mb.elements.new(type='BALL')
    el.co = [random.uniform(-1, 1) for _ in range(3)]
    el.radius = random.uniform(0.6, 1.1)
# check: len(bpy.data.metaballs['Blob'].elements) == 8
