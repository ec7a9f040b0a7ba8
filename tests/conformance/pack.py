# SPDX-License-Identifier: GPL-3.0-or-later
"""The tools, resources and prompts that the official conformance suite calls by name.

Names, keys and some texts are dictated by the suite's scenarios. Nothing here is installed.
"""

from __future__ import annotations

import asyncio
import base64
import json
from typing import Any

from bl_ext.user_default.mcp_bridge.base.errors import ExternalServiceError
from bl_ext.user_default.mcp_bridge.server.protocol.context import RequestContext
from bl_ext.user_default.mcp_bridge.server.protocol.features import (
    Features,
    Prompt,
    PromptArgument,
    Resource,
    ResourceTemplate,
    Tool,
)
from bl_ext.user_default.mcp_bridge.server.protocol.messages import content
from bl_ext.user_default.mcp_bridge.server.protocol.messages.content import ToolResult
from bl_ext.user_default.mcp_bridge.server.protocol.messages.errors import (
    INTERNAL_ERROR,
    MissingCapability,
    RpcError,
)
from bl_ext.user_default.mcp_bridge.server.protocol.messages.revisions import TASKS_EXTENSION

#: One red pixel.
PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="
)
#: One silent sample.
WAV = b"RIFF&\0\0\0WAVEfmt \x10\0\0\0\1\0\1\0@\x1f\0\0\x80>\0\0\2\0\x10\0data\2\0\0\0\0\0"

NOTHING = {"type": "object", "properties": {}}

WATCHED = "test://watched-resource"

Json = dict[str, Any]


def string_form(name: str) -> Json:
    """The schema of a form with one required text."""
    return {"type": "object", "properties": {name: {"type": "string"}}, "required": [name]}


def install(features: Features) -> None:
    """Add everything to a registry."""
    features.add(*tools(features), *resources(), *prompts())


# Tools


async def simple_text(_ctx: RequestContext, _arguments: Json) -> ToolResult:
    return ToolResult([content.text("This is a simple text response for testing.")])


async def image_content(_ctx: RequestContext, _arguments: Json) -> ToolResult:
    return ToolResult([content.image(PNG)])


async def audio_content(_ctx: RequestContext, _arguments: Json) -> ToolResult:
    return ToolResult([content.audio(WAV)])


async def embedded_resource(_ctx: RequestContext, _arguments: Json) -> ToolResult:
    contents = content.text_contents("test://embedded-resource", "This is an embedded resource content.")
    return ToolResult([content.embedded(contents)])


async def multiple_content_types(_ctx: RequestContext, _arguments: Json) -> ToolResult:
    mixed = content.text_contents("test://mixed-content-resource", '{"test": "data"}', "application/json")
    return ToolResult([content.text("Several kinds:"), content.image(PNG), content.embedded(mixed)])


async def error_handling(_ctx: RequestContext, _arguments: Json) -> ToolResult:
    return content.failed(ExternalServiceError("This tool intentionally returns an error for testing"))


async def with_logging(ctx: RequestContext, _arguments: Json) -> ToolResult:
    for step in ("Tool execution started", "Tool processing data", "Tool execution completed"):
        ctx.log("info", step)
        await asyncio.sleep(0.05)
    return ToolResult([content.text("Logged three times")])


async def with_progress(ctx: RequestContext, _arguments: Json) -> ToolResult:
    for step in (0, 50, 100):
        await ctx.progress(step, 100, f"Completed step {step} of 100")
        await asyncio.sleep(0.05)
    return ToolResult([content.text(str(ctx.meta.get("progressToken")))])


async def sampling(ctx: RequestContext, arguments: Json) -> ToolResult:
    question = content.message("user", content.text(arguments["prompt"]))
    answer = await ctx.sample("question", [question], 100)
    return ToolResult([content.text(f"LLM response: {answer['content'].get('text')}")])


async def elicitation(ctx: RequestContext, arguments: Json) -> ToolResult:
    properties = {"username": {"type": "string"}, "email": {"type": "string"}}
    form = {"type": "object", "properties": properties, "required": ["username", "email"]}
    answer = await ctx.elicit("question", arguments["message"], form)
    return ToolResult([content.text(f"User response: {json.dumps(answer)}")])


async def elicitation_defaults(ctx: RequestContext, _arguments: Json) -> ToolResult:
    properties = {
        "name": {"type": "string", "default": "John Doe"},
        "age": {"type": "integer", "default": 30},
        "score": {"type": "number", "default": 95.5},
        "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
        "verified": {"type": "boolean", "default": True},
    }
    answer = await ctx.elicit("form", "Please review", {"type": "object", "properties": properties})
    return ToolResult([content.text(f"Elicitation completed: {json.dumps(answer)}")])


async def elicitation_enums(ctx: RequestContext, _arguments: Json) -> ToolResult:
    titled = [{"const": f"value{n}", "title": f"Choice {n}"} for n in (1, 2, 3)]
    options = ["option1", "option2", "option3"]
    properties = {
        "untitledSingle": {"type": "string", "enum": options},
        "titledSingle": {"type": "string", "oneOf": titled},
        "legacyEnum": {"type": "string", "enum": ["opt1", "opt2"], "enumNames": ["One", "Two"]},
        "untitledMulti": {"type": "array", "items": {"type": "string", "enum": options}},
        "titledMulti": {"type": "array", "items": {"anyOf": titled}},
    }
    answer = await ctx.elicit("form", "Please choose", {"type": "object", "properties": properties})
    return ToolResult([content.text(f"Elicitation completed: {json.dumps(answer)}")])


async def reconnection(ctx: RequestContext, _arguments: Json) -> ToolResult:
    await ctx.release_stream()
    await asyncio.sleep(0.1)
    return ToolResult([content.text("The answer came after the stream was let go")])


async def json_schema(_ctx: RequestContext, arguments: Json) -> ToolResult:
    return ToolResult([content.text(json.dumps(arguments))])


async def header_tool(_ctx: RequestContext, arguments: Json) -> ToolResult:
    return ToolResult([content.text(json.dumps(arguments))])


async def ask_name(ctx: RequestContext, _arguments: Json) -> ToolResult:
    answer = await ctx.elicit("user_name", "What is your name?", string_form("name"))
    return ToolResult([content.text(f"Hello, {answer['content']['name']}!")])


async def ask_model(ctx: RequestContext, _arguments: Json) -> ToolResult:
    question = content.message("user", content.text("What is the capital of France?"))
    answer = await ctx.sample("capital_question", [question], 100)
    return ToolResult([content.text(answer["content"]["text"])])


async def ask_roots(ctx: RequestContext, _arguments: Json) -> ToolResult:
    return ToolResult([content.text(json.dumps(await ctx.list_roots("client_roots")))])


async def ask_confirm(ctx: RequestContext, _arguments: Json) -> ToolResult:
    schema = {"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]}
    await ctx.elicit("confirm", "Please confirm", schema)
    return ToolResult([content.text("state-ok")])


async def ask_much(ctx: RequestContext, _arguments: Json) -> ToolResult:
    form = {"mode": "form", "message": "What is your name?", "requestedSchema": string_form("name")}
    question = {"messages": [content.message("user", content.text("Generate a greeting"))], "maxTokens": 50}
    await ctx.ask(
        {
            "user_name": {"method": "elicitation/create", "params": form},
            "greeting": {"method": "sampling/createMessage", "params": question},
            "client_roots": {"method": "roots/list", "params": {}},
        }
    )
    return ToolResult([content.text("All answered")])


async def ask_twice(ctx: RequestContext, _arguments: Json) -> ToolResult:
    name = await ctx.elicit("step1", "Step 1: What is your name?", string_form("name"))
    color = await ctx.elicit("step2", "Step 2: What is your favorite color?", string_form("color"))
    return ToolResult([content.text(json.dumps([name, color]))])


async def ask_what_is_offered(ctx: RequestContext, arguments: Json) -> ToolResult:
    if ctx.supports("elicitation", "form"):
        return await ask_name(ctx, arguments)
    return await ask_model(ctx, arguments)


async def missing_capability(ctx: RequestContext, _arguments: Json) -> ToolResult:
    if not ctx.supports("sampling"):
        raise MissingCapability({"sampling": {}})
    return ToolResult([content.text("The client can sample")])


async def logging_tool(ctx: RequestContext, _arguments: Json) -> ToolResult:
    ctx.log("info", "To be seen only by who asked for it")
    return ToolResult([content.text("Logged")])


# Tools that become tasks


async def greet(_ctx: RequestContext, arguments: Json) -> ToolResult:
    return ToolResult([content.text(f"Hello, {arguments['name']}!")])


async def slow_compute(ctx: RequestContext, arguments: Json) -> ToolResult:
    await ctx.background("compute", "Slow computation")
    await asyncio.sleep(arguments["seconds"])
    return ToolResult([content.text(f"{arguments.get('label')}: done")])


async def failing_job(ctx: RequestContext, _arguments: Json) -> ToolResult:
    if not ctx.supports("extensions", TASKS_EXTENSION):
        raise MissingCapability({"extensions": {TASKS_EXTENSION: {}}})
    await ctx.background("fail", "Failing job")
    await asyncio.sleep(1)
    return content.failed(ExternalServiceError("The job failed, as it should"))


async def protocol_error_job(ctx: RequestContext, _arguments: Json) -> ToolResult:
    await ctx.background("fail", "Breaking job")
    raise RpcError(INTERNAL_ERROR, "The job broke, as it should")


async def confirm_delete(ctx: RequestContext, arguments: Json) -> ToolResult:
    await ctx.background("delete", "Deletion")
    schema = {"type": "object", "properties": {"confirm": {"type": "boolean"}}}
    answer = await ctx.elicit("confirm", f"Delete {arguments['filename']}?", schema)
    return ToolResult([content.text(json.dumps(answer))])


async def multi_input(ctx: RequestContext, _arguments: Json) -> ToolResult:
    await ctx.background("ask", "Two questions")
    form = {"mode": "form", "message": "Name?", "requestedSchema": string_form("name")}
    request = {"method": "elicitation/create", "params": form}
    answers = await ctx.ask({"first": request, "second": request})
    return ToolResult([content.text(json.dumps(answers))])


async def asks_then_works(ctx: RequestContext, _arguments: Json) -> ToolResult:
    answer = await ctx.elicit("user_name", "What is your name?", string_form("name"))
    await ctx.background("greet", "Greeting")
    return ToolResult([content.text(f"Hello, {answer['content']['name']}!")])


def tool(name: str, handler: Any, /, **properties: Json) -> Tool:
    """A tool of the suite, its arguments all required."""
    schema = {"type": "object", "properties": properties, "required": list(properties)}
    return Tool(
        name=name,
        description=f"Fixture of the conformance suite: {name}",
        input_schema=schema if properties else NOTHING,
        handler=handler,
    )


def tools(features: Features) -> list[Tool]:
    """Every tool of the suite; two of them change the registry that they are in."""

    async def trigger_tool_change(_ctx: RequestContext, _arguments: Json) -> ToolResult:
        features.add(tools(features)[0])
        return ToolResult([content.text("The list of tools changed")])

    async def trigger_prompt_change(_ctx: RequestContext, _arguments: Json) -> ToolResult:
        features.add(prompts()[0])
        return ToolResult([content.text("The list of prompts changed")])

    text = {"type": "string"}
    return [
        tool("test_simple_text", simple_text),
        tool("test_image_content", image_content),
        tool("test_audio_content", audio_content),
        tool("test_embedded_resource", embedded_resource),
        tool("test_multiple_content_types", multiple_content_types),
        tool("test_error_handling", error_handling),
        tool("test_tool_with_logging", with_logging),
        tool("test_tool_with_progress", with_progress),
        tool("test_sampling", sampling, prompt=text),
        tool("test_elicitation", elicitation, message=text),
        tool("test_elicitation_sep1034_defaults", elicitation_defaults),
        tool("test_elicitation_sep1330_enums", elicitation_enums),
        tool("test_reconnection", reconnection),
        tool("test_missing_capability", missing_capability),
        tool("test_streaming_elicitation", ask_name),
        tool("test_logging_tool", logging_tool),
        tool("test_trigger_tool_change", trigger_tool_change),
        tool("test_trigger_prompt_change", trigger_prompt_change),
        tool("test_input_required_result_elicitation", ask_name),
        tool("test_input_required_result_sampling", ask_model),
        tool("test_input_required_result_list_roots", ask_roots),
        tool("test_input_required_result_request_state", ask_confirm),
        tool("test_input_required_result_tampered_state", ask_confirm),
        tool("test_input_required_result_multiple_inputs", ask_much),
        tool("test_input_required_result_multi_round", ask_twice),
        tool("test_input_required_result_capabilities", ask_what_is_offered),
        tool("greet", greet, name=text),
        tool("slow_compute", slow_compute, seconds={"type": "number"}, label=text),
        tool("failing_job", failing_job),
        tool("protocol_error_job", protocol_error_job),
        tool("confirm_delete", confirm_delete, filename=text),
        tool("multi_input", multi_input),
        tool("test_tool_with_task", asks_then_works),
        tool("test_x_mcp_header", header_tool, region={"type": "string", "x-mcp-header": "Region"}),
        Tool(
            name="json_schema_2020_12_tool",
            description="A schema with the vocabulary of JSON Schema 2020-12",
            input_schema=JSON_SCHEMA_2020_12,
            handler=json_schema,
        ),
    ]


#: As the scenario json-schema-2020-12 prescribes it.
JSON_SCHEMA_2020_12 = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }
    },
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}


# Resources


async def static_text(_ctx: RequestContext, uri: str) -> list[Json]:
    return [content.text_contents(uri, "This is the content of the static text resource.")]


async def static_binary(_ctx: RequestContext, uri: str) -> list[Json]:
    return [content.blob_contents(uri, PNG, "image/png")]


async def template_data(_ctx: RequestContext, uri: str, variables: dict[str, str]) -> list[Json]:
    data = {"id": variables["id"], "templateTest": True, "data": f"Data for ID: {variables['id']}"}
    return [content.text_contents(uri, json.dumps(data), "application/json")]


def resources() -> list[Resource | ResourceTemplate]:
    """Every resource of the suite."""
    return [
        Resource(uri="test://static-text", name="Static text", mime_type="text/plain", read=static_text),
        Resource(
            uri="test://static-binary", name="Static picture", mime_type="image/png", read=static_binary
        ),
        Resource(uri=WATCHED, name="Watched", mime_type="text/plain", read=static_text),
        ResourceTemplate(
            uri_template="test://template/{id}/data",
            name="Template",
            mime_type="application/json",
            read=template_data,
        ),
    ]


# Prompts


async def simple_prompt(_ctx: RequestContext, _arguments: dict[str, str]) -> list[Json]:
    return [content.message("user", content.text("This is a simple prompt for testing."))]


async def prompt_with_arguments(_ctx: RequestContext, arguments: dict[str, str]) -> list[Json]:
    said = f"Prompt with arguments: arg1='{arguments['arg1']}', arg2='{arguments['arg2']}'"
    return [content.message("user", content.text(said))]


async def prompt_with_embedded_resource(_ctx: RequestContext, arguments: dict[str, str]) -> list[Json]:
    contents = content.text_contents(arguments["resourceUri"], "Embedded resource content for testing.")
    return [
        content.message("user", content.embedded(contents)),
        content.message("user", content.text("Please process the embedded resource above.")),
    ]


async def prompt_with_image(_ctx: RequestContext, _arguments: dict[str, str]) -> list[Json]:
    return [
        content.message("user", content.image(PNG)),
        content.message("user", content.text("Please analyze the image above.")),
    ]


async def prompt_that_asks(ctx: RequestContext, _arguments: dict[str, str]) -> list[Json]:
    answer = await ctx.elicit("user_context", "What context should the prompt use?", string_form("context"))
    return [content.message("user", content.text(f"Use this context: {answer['content']['context']}"))]


async def two_values(_ctx: RequestContext, value: str, _context: Any) -> list[str]:
    return [f"{value}-1", f"{value}-2"]


def prompts() -> list[Prompt]:
    """Every prompt of the suite."""
    two = [
        PromptArgument(name="arg1", description="First", required=True, complete=two_values),
        PromptArgument(name="arg2", description="Second", required=True),
    ]
    uri = [PromptArgument(name="resourceUri", description="What to embed", required=True)]

    def prompt(name: str, get: Any, arguments: list[PromptArgument] | None = None) -> Prompt:
        description = f"Fixture of the conformance suite: {name}"
        return Prompt(name=name, description=description, arguments=arguments or (), get=get)

    return [
        prompt("test_simple_prompt", simple_prompt),
        prompt("test_prompt_with_arguments", prompt_with_arguments, two),
        prompt("test_prompt_with_embedded_resource", prompt_with_embedded_resource, uri),
        prompt("test_prompt_with_image", prompt_with_image),
        prompt("test_input_required_result_prompt", prompt_that_asks),
    ]
