import bpy
from bpy.props import EnumProperty, FloatProperty, FloatVectorProperty
from bpy.utils import register_class, unregister_class


class Growing:
    factor: FloatProperty(name="Factor", default=1.5, min=0.0, max=4.0)

    def grow(self, found):
        found.scale = [part * self.factor for part in found.scale]


class MESH_OT_grow_all(Growing, bpy.types.Operator):
    """Grow all meshes"""
    bl_idname = "mesh.grow_all_of_them"
    bl_label = "Grow All"
    bl_options = {"REGISTER", "UNDO"}

    side: EnumProperty(items=[("UP", "Up", ""), ("DOWN", "Down", "")], default="UP")
    offset: FloatVectorProperty(size=3, subtype="TRANSLATION", default=(0.0, 0.0, 2.0))

    @classmethod
    def poll(cls, context):
        return bool(context.scene.objects)

    def execute(self, context):
        found = [each for each in context.scene.objects if each.type == "MESH"]
        if not found:
            self.report({"WARNING"}, "nothing to grow")
            return {"CANCELLED"}
        for each in found:
            self.grow(each)
            each.location += self.offset if self.side == "UP" else -self.offset
        self.report({"INFO"}, f"{len(found)} grown by {self.factor:g}")
        return {"FINISHED"}


class VIEW3D_PT_growing(bpy.types.Panel):
    bl_label = "Growing"
    bl_space_type = "VIEW_3D"
    bl_region_type = "UI"

    def draw(self, context):
        self.layout.operator(MESH_OT_grow_all.bl_idname)


def draw_entry(self, context):
    self.layout.operator(MESH_OT_grow_all.bl_idname)


def register():
    for each in (MESH_OT_grow_all, VIEW3D_PT_growing):
        register_class(each)
    bpy.types.VIEW3D_MT_object.append(draw_entry)


def unregister():
    bpy.types.VIEW3D_MT_object.remove(draw_entry)
    for each in (VIEW3D_PT_growing, MESH_OT_grow_all):
        unregister_class(each)


if __name__ == "__main__":
    register()
    bpy.ops.mesh.primitive_cube_add(location=(1, 0, 0))
    bpy.context.object.name = "Grown"
    done = [bpy.ops.mesh.grow_all_of_them(), bpy.ops.mesh.grow_all_of_them("EXEC_DEFAULT", factor=9.0, side="DOWN")]
    assert done == [{"FINISHED"}, {"FINISHED"}]
    unregister()
# check: tuple(D.objects['Grown'].scale) == (6.0, 6.0, 6.0) and tuple(D.objects['Grown'].location) == (1.0, 0.0, 0.0)
