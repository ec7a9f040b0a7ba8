// SPDX-License-Identifier: GPL-3.0-or-later
// The story told by the TypeScript SDK over its own WebSocket transport.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { WebSocketClientTransport } from "@modelcontextprotocol/sdk/client/websocket.js";

const { url, story, pages } = JSON.parse(process.env.STORY);
const client = new Client({ name: "story", version: "1.0.0" });
await client.connect(new WebSocketClientTransport(new URL(url)));
const tools = (await client.listTools()).tools.map((tool) => tool.name);
const results = [];
for (const [name, args] of story) results.push(await client.callTool({ name, arguments: args }));
const objects = [];
let cursor;
while (pages) {
  const [name, args] = pages;
  const more = cursor ? { cursor } : {};
  const page = (await client.callTool({ name, arguments: { ...args, ...more } })).structuredContent;
  objects.push(...page.objects.map((item) => item.name));
  cursor = page.next_cursor;
  if (!cursor) break;
}
console.log(JSON.stringify({ tools, results, objects }));
await client.close();
