import { fromJsonSchema, McpServer, type ServerContext } from '@modelcontextprotocol/server'
import manifest from '../package.json' with { type: 'json' }
import { refusalResult } from './refusals.ts'
import { printable } from './text.ts'
import { resultOf, type Tool, type ToolCaller } from './tool.ts'
import { followSession } from './tools/follow-session.ts'
import { answerQuestion, decideApproval } from './tools/interactions.ts'
import { listEnvironments, listRepositories, listRuntimes } from './tools/places.ts'
import { publishChanges, reviewChanges } from './tools/publications.ts'
import { listPullRequests, retryPullRequest, showPullRequest, stopPullRequest } from './tools/pull-requests.ts'
import { forkSession, listSessions, sendMessage, startSession, stopRun } from './tools/sessions.ts'
import { verifyChanges } from './tools/verifications.ts'

const tools: readonly Tool[] = [
  startSession,
  followSession,
  sendMessage,
  answerQuestion,
  decideApproval,
  stopRun,
  forkSession,
  reviewChanges,
  verifyChanges,
  publishChanges,
  listPullRequests,
  showPullRequest,
  stopPullRequest,
  retryPullRequest,
  listSessions,
  listRepositories,
  listEnvironments,
  listRuntimes,
]

/**
 * The tools with their compiled schemas. The library keeps each schema that it compiles for ever, and takes half a
 * millisecond for one; over HTTP a server is made for every request.
 */
const compiled = tools.map(each => ({
  ...each,
  inputSchema: fromJsonSchema<Record<string, unknown>>({ ...each.input }),
  outputSchema: fromJsonSchema<Record<string, unknown>>({ ...each.output }),
}))

const instructions = `Berth runs coding agents in isolated sandboxes. start_session gives an agent a task; the work goes on without
you. follow_session waits for news: call it with the sequence that it returned last, until the run has ended or the
agent waits. Questions and plans are answered with answer_question. An approval allows an action outside of the
sandbox's rules: ask your own user before you decide one. When a run has ended, review_changes shows what it changed,
verify_changes runs the environment's checks on it, and publish_changes opens a pull request of exactly the reviewed revision; with followUp, Berth carries it on until
it is merged.`

/** Returns a function that makes a server with Berth's tools, for one connection or one request of a caller. */
export const berthTools = (caller: ToolCaller) => (): McpServer => {
  const server = new McpServer({ name: 'berth', title: 'Berth', version: manifest.version }, { instructions })
  for (const each of compiled) register(server, each, caller)
  return server
}

function register(server: McpServer, tool: (typeof compiled)[number], caller: ToolCaller): void {
  const { name, title, description, inputSchema, outputSchema, reads = false, repeatable = false } = tool
  const annotations = { readOnlyHint: reads, idempotentHint: reads || repeatable, openWorldHint: true }
  server.registerTool(name, { title, description, inputSchema, outputSchema, annotations }, async (args, context) => {
    try {
      const call = { ...caller, signal: context.mcpReq.signal, progress: progressOf(context) }
      return resultOf(await tool.run(args as never, call))
    } catch (failure) {
      return refusalResult(failure)
    }
  })
}

/** Notifications of one call: a client that reads none of them lets them gather in memory. */
const NOTIFICATIONS_MOST = 1_000

/** Returns a function that notifies the client; the protocol wants the notifications counted. */
function progressOf({ mcpReq }: ServerContext): (message: string) => Promise<void> {
  const progressToken = mcpReq._meta?.progressToken
  let progress = 0
  return async message => {
    if (progressToken === undefined || mcpReq.signal.aborted || progress === NOTIFICATIONS_MOST) return
    progress += 1
    const params = { progressToken, progress, message: printable(message) }
    await mcpReq.notify({ method: 'notifications/progress', params })
  }
}
