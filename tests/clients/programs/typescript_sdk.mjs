// SPDX-License-Identifier: GPL-3.0-or-later
// The TypeScript SDK.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { WebSocketClientTransport } from "@modelcontextprotocol/sdk/client/websocket.js";
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";

const told = JSON.parse(process.env.TOLD);
const headers = { Authorization: `Bearer ${told.token}` };
const transport =
  told.transport === "stdio"
    ? new StdioClientTransport({ command: told.command, args: told.args, env: { ...process.env, ...told.env } })
    : told.transport === "http"
      ? new StreamableHTTPClientTransport(new URL(told.url), { requestInit: { headers } })
      : new WebSocketClientTransport(new URL(told.websocket));
const client = new Client({ name: "matrix", version: "1.0.0" }, { capabilities: { elicitation: { form: {} } } });
client.setRequestHandler(ElicitRequestSchema, async () => ({ action: "accept", content: { apply: true } }));
await client.connect(transport);
await client.listTools();
for (const { tool, arguments: given } of told.steps) {
  const signal = told.cancel ? AbortSignal.timeout(2000) : undefined;
  try {
    const result = await client.callTool({ name: tool, arguments: given }, undefined, { signal, onprogress: () => {} });
    console.log("RESULT", JSON.stringify(result));
  } catch (error) {
    if (!told.cancel) throw error;
    await new Promise((done) => setTimeout(done, 500));
  }
}
await client.close();
process.exit(0);
