import { createMcpHandler } from '@modelcontextprotocol/server'
import { serveStdio } from '@modelcontextprotocol/server/stdio'
import { berthTools } from './berth-tools.ts'
import type { ToolCaller } from './tool.ts'

/**
 * Answers one request of the streamable HTTP transport. The caller has authenticated it.
 * @param message its body, parsed
 */
export const answerOverHttp = (caller: ToolCaller, request: Request, message: unknown): Promise<Response> =>
  createMcpHandler(berthTools(caller)).fetch(request, { parsedBody: message })

/** Serves tools on this process's standard input and output; resolves when the client has closed them. */
export async function serveOverStdio(caller: ToolCaller, report: (failure: Error) => void): Promise<void> {
  const { promise: closed, resolve } = Promise.withResolvers<void>()
  process.stdin.once('close', resolve).once('end', resolve)
  const serving = serveStdio(berthTools(caller), { onerror: report })
  await closed
  await serving.close()
}
