# The same layer held as an attribute and as a UV or colour layer, while something else of the scene is removed.
import bpy

cube = bpy.context.object
mesh = cube.data
mesh.color_attributes.new("Paint", "BYTE_COLOR", "CORNER")
as_attribute, as_uv = mesh.attributes["UVMap"], mesh.uv_layers["UVMap"]
as_colour, as_paint = mesh.attributes["Paint"], mesh.color_attributes["Paint"]
as_layer = mesh.vertex_colors["Paint"]
cube.modifiers.new("Round", "SUBSURF")
cube.modifiers.clear()
result = [layer.name for layer in (as_attribute, as_uv, as_colour, as_paint, as_layer)]
corners = [len(layer.data) for layer in (as_attribute, as_uv, as_colour, as_paint, as_layer)]
# check: g["result"] == ["UVMap", "UVMap", "Paint", "Paint", "Paint"] and set(g["corners"]) == {24}
