# SPDX-License-Identifier: GPL-3.0-or-later
"""A model on a loopback port that makes the calls of a scenario, as OpenAI, Anthropic and Google speak.

It answers each request for which the client offers Blender's tools with the next call, and keeps what it was sent: that
is what a real model would have seen.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from scenario import Step

__all__ = ("Model", "pictures", "results")

Json = dict[str, Any]


class Model:
    """The scripted model; `seen` has the requests for which Blender's tools were offered, the first first."""

    def __init__(self, steps: Sequence[Step]) -> None:
        self.steps = steps
        self.seen: list[Json] = []
        self.all: list[tuple[str, Json]] = []
        #: Whether the first result is that of the client's own search for tools.
        self.searched = False
        model = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                self._send("application/json", json.dumps({"object": "list", "data": [{"id": "m"}]}).encode())

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or b"{}")
                model.all.append((self.path, body))
                kind, answer = model._answer(self.path, body)
                self._send(kind, answer)

            def _send(self, kind: str, data: bytes) -> None:
                try:
                    self.send_response(200)
                    self.send_header("Content-Type", kind)
                    self.send_header("Content-Length", str(len(data)))
                    self.end_headers()
                    self.wfile.write(data)
                except OSError:
                    pass  # the client did not wait

            def log_message(self, *_: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def __enter__(self) -> Model:
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def _answer(self, path: str, body: Json) -> tuple[str, bytes]:
        if "count" in path:
            return "application/json", json.dumps({"input_tokens": 1, "totalTokens": 1}).encode()
        offered = list(_names(body))
        call: tuple[str, Json] | None = None
        searched = {"tool_search", "tool_call"} <= set(
            offered
        )  # as Qwen Code has it, with all tools of servers
        if searched or any(name.endswith("get_scene_info") for name in offered):
            self.seen.append(body)
            self.searched = searched
            done = len(results(body)) - searched
            if done < 0:
                call = "tool_search", {"query": "select:" + ",".join(_searched(body, self.steps))}
            elif done < len(self.steps):
                step = self.steps[done]
                name = next((one for one in offered if one.endswith(step.tool)), step.tool)
                call = name, dict(step.arguments)
                if searched:
                    call = "tool_call", {"name": _searched(body, [step])[0], "arguments": call[1]}
        number = len(self.seen)
        if "generateContent" in path or "GenerateContent" in path:
            return _google(call, "stream" in path)
        if path.endswith("/responses"):
            return _responses(call, number, body.get("stream", False), self._namespace(body, call))
        if "messages" in path and "chat" not in path:
            return _anthropic(call, number, body.get("stream", False))
        return _chat(call, number, body.get("stream", False))

    def _namespace(self, body: Json, call: tuple[str, Json] | None) -> str:
        """Where a tool is offered in a namespace, its name."""
        for tool in body.get("tools") or ():
            for inner in tool.get("tools") or ():
                if call and inner.get("name") == call[0]:
                    return str(tool["name"])
        return ""


def _searched(body: Json, steps: Sequence[Step]) -> list[str]:
    """By which names the prompt tells of tools that have to be searched for first."""
    text = json.dumps(body.get("messages"))
    wanted = dict.fromkeys(step.tool for step in steps)
    found = (re.search(rf"\w+__{one}\b", text) for one in wanted)
    return [one[0] for one in found if one]


def _names(body: Json) -> Iterator[str]:
    """Names of the functions that a request offers."""
    for tool in body.get("tools") or ():
        for one in (tool, tool.get("function") or {}, *(tool.get("tools") or ())):
            if isinstance(one.get("name"), str):
                yield one["name"]
        for one in tool.get("functionDeclarations") or tool.get("function_declarations") or ():
            yield one["name"]


def results(body: Json) -> list[str]:
    """The results of calls in a request, each as one text."""
    found: list[Any] = []
    for message in body.get("messages") or ():
        if message.get("role") == "tool":
            found.append(message.get("content"))
        elif isinstance(message.get("content"), list):
            found += [one.get("content") for one in message["content"] if one.get("type") == "tool_result"]
    for item in body.get("input") if isinstance(body.get("input"), list) else ():
        if item.get("type") == "function_call_output":
            found.append(item.get("output"))
    for content in body.get("contents") or ():
        found += [
            part["functionResponse"] for part in content.get("parts") or () if "functionResponse" in part
        ]
    return [one if isinstance(one, str) else json.dumps(one, ensure_ascii=False) for one in found]


def pictures(body: Json) -> str:
    """How a request carries pictures: "yes" as such, "as text" in base64 within a text, "no"."""
    text = json.dumps(body)
    if re.search(r'"type": "(image|image_url|input_image)"|"mime_?[tT]ype": "image/', text):
        return "yes"
    return "as text" if "/9j/4AAQ" in text else "no"


def _sse(events: Sequence[tuple[str | None, Json | str]]) -> tuple[str, bytes]:
    parts = []
    for name, data in events:
        text = data if isinstance(data, str) else json.dumps(data)
        parts.append((f"event: {name}\n" if name else "") + f"data: {text}\n\n")
    return "text/event-stream", "".join(parts).encode()


def _chat(call: tuple[str, Json] | None, number: int, stream: bool) -> tuple[str, bytes]:
    base = {"id": f"chatcmpl-{number}", "created": 1, "model": "m"}
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    message: Json = {"role": "assistant", "content": None if call else "done"}
    if call:
        function = {"name": call[0], "arguments": json.dumps(call[1])}
        message["tool_calls"] = [
            {"index": 0, "id": f"call_{number}", "type": "function", "function": function}
        ]
    end = "tool_calls" if call else "stop"
    if not stream:
        choice = {"index": 0, "message": message, "finish_reason": end}
        whole = {**base, "object": "chat.completion", "choices": [choice], "usage": usage}
        return "application/json", json.dumps(whole).encode()
    chunk = {**base, "object": "chat.completion.chunk"}
    return _sse(
        [
            (None, {**chunk, "choices": [{"index": 0, "delta": message, "finish_reason": None}]}),
            (None, {**chunk, "choices": [{"index": 0, "delta": {}, "finish_reason": end}]}),
            (None, {**chunk, "choices": [], "usage": usage}),
            (None, "[DONE]"),
        ]
    )


def _responses(call: tuple[str, Json] | None, number: int, stream: bool, namespace: str) -> tuple[str, bytes]:
    if call:
        item: Json = {
            "type": "function_call",
            "id": f"fc_{number}",
            "call_id": f"call_{number}",
            "name": call[0],
            "arguments": json.dumps(call[1]),
            "status": "completed",
        }
        if namespace:
            item["namespace"] = namespace
    else:
        content = {"type": "output_text", "text": "done", "annotations": []}
        item = {
            "type": "message",
            "id": f"msg_{number}",
            "role": "assistant",
            "status": "completed",
            "content": [content],
        }
    details = {"input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}
    whole = {
        "id": f"resp_{number}",
        "object": "response",
        "created_at": 1,
        "model": "m",
        "status": "completed",
        "output": [item],
        "parallel_tool_calls": False,
        "tool_choice": "auto",
        "tools": [],
        "usage": {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2, **details},
    }
    if not stream:
        return "application/json", json.dumps(whole).encode()
    begun = {**whole, "status": "in_progress", "output": []}
    events: list[tuple[str, Json]] = [
        ("response.created", {"response": begun}),
        ("response.output_item.added", {"output_index": 0, "item": item}),
        ("response.output_item.done", {"output_index": 0, "item": item}),
        ("response.completed", {"response": whole}),
    ]
    return _sse(
        [
            (name, {"type": name, "sequence_number": index, **data})
            for index, (name, data) in enumerate(events)
        ]
    )


def _anthropic(call: tuple[str, Json] | None, number: int, stream: bool) -> tuple[str, bytes]:
    end = "tool_use" if call else "end_turn"
    block: Json = (
        {"type": "tool_use", "id": f"toolu_{number}", "name": call[0], "input": call[1]}
        if call
        else {"type": "text", "text": "done"}
    )
    usage = {"input_tokens": 1, "output_tokens": 1}
    whole = {
        "id": f"msg_{number}",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": [block],
        "stop_reason": end,
        "stop_sequence": None,
        "usage": usage,
    }
    if not stream:
        return "application/json", json.dumps(whole).encode()
    empty = {**block, "input": {}} if call else {**block, "text": ""}
    delta = (
        {"type": "input_json_delta", "partial_json": json.dumps(call[1])}
        if call
        else {"type": "text_delta", "text": "done"}
    )
    events: list[tuple[str, Json]] = [
        ("message_start", {"message": {**whole, "content": [], "stop_reason": None}}),
        ("content_block_start", {"index": 0, "content_block": empty}),
        ("content_block_delta", {"index": 0, "delta": delta}),
        ("content_block_stop", {"index": 0}),
        ("message_delta", {"delta": {"stop_reason": end, "stop_sequence": None}, "usage": usage}),
        ("message_stop", {}),
    ]
    return _sse([(name, {"type": name, **data}) for name, data in events])


def _google(call: tuple[str, Json] | None, stream: bool) -> tuple[str, bytes]:
    part: Json = {"functionCall": {"name": call[0], "args": call[1]}} if call else {"text": "done"}
    candidate = {"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}
    usage = {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}
    whole = {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "m"}
    return _sse([(None, whole)]) if stream else ("application/json", json.dumps(whole).encode())
