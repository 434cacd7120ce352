import { execFileSync } from 'node:child_process'
import { appendFileSync, existsSync, mkdirSync, readFileSync, watch, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { Readable, Writable } from 'node:stream'
import { setImmediate as nextTurnOfTheLoop } from 'node:timers/promises'
import {
  type AgentContext,
  agent,
  type ContentBlock,
  type CreateElicitationRequest,
  type CreateElicitationResponse,
  methods,
  ndJsonStream,
  type PermissionOption,
  type PlanEntry,
  PROTOCOL_VERSION,
  type PromptResponse,
  RequestError,
  type RequestPermissionResponse,
  type SessionUpdate,
  type ToolCallUpdate,
} from '@agentclientprotocol/sdk'
import { scriptOf } from './tasks.ts'

/**
 * An ACP agent for tests whose behaviour is the prompt: one instruction per line, carried out in order; the turn then
 * ends with `end_turn`.
 *
 *     say TEXT                  a message chunk (`\n` in TEXT is a line break)
 *     think TEXT                a thought chunk
 *     leak NAME N               the value of an environment variable, in message chunks of N characters
 *     tool TITLE [=> TEXT]      a tool call, started and completed, with that output (`\n` in TEXT is a line break)
 *     open TITLE                a tool call, started only
 *     edit PATH OLD NEW         a tool call with a diff
 *     write PATH TEXT           a file of that content (`\n` in TEXT is a line break), and a tool call with the diff
 *     count N                   N message chunks "1 ", "2 ", …, as fast as the pipe takes them
 *     tools N                   N completed tool calls titled "step 1", …
 *     wait PATH                 nothing until the file exists; cancellation ends the turn
 *     remember TEXT             keeps it below the agent's home, for `recall`
 *     recall                    says whether the conversation was loaded, and all that was kept
 *     model JSON                sends the model gateway this request and says the status of its answer
 *     side JSON                 the same, and says nothing
 *     servers                   says the MCP servers that it was given, with their variables
 *     present NAME              presents a file of that name and content
 *     permission TITLE          asks for permission and says the outcome
 *     allow TITLE               asks for permission, and says nothing if it is given
 *     options JSON              asks for permission with these options, and says the outcome
 *     hasty TITLE               asks for permission, withdraws the request at once and says the outcome
 *     leave TITLE               asks for permission and goes on without waiting
 *     plan TEXT                 asks to leave plan mode and says the outcome
 *     propose TEXT              the same, and says nothing (`\n` in TEXT is a line break)
 *     todo JSON                 a plan of those entries, each a text and its status: [["Look", "completed"]]
 *     ask JSON                  asks people to fill in a form (`message`, `requestedSchema`) and says the answer; `%NAME%`
 *                               stands for the value of an environment variable
 *     choose JSON               the same, and says nothing of the answer
 *     asking JSON               the same, by a tool call
 *     asks N                    asks N questions at once and says how many were answered, and how
 *     big BYTES                 asks a question of that length and says the answer
 *     tell TYPE JSON            an extension notification, `_berth/event`
 *     delegated ID TITLE        a completed tool call of a delegated agent
 *     noise                     lines on stdout that are no JSON, blank ones and bytes that are no UTF-8 among them
 *     stderr N                  N lines on stderr
 *     flood BYTES               one line of that length
 *     endless                   message chunks for ever
 *     garbage                   JSON that is no JSON-RPC, unknown updates, answers to nobody, a batch
 *     bad-result                answers the prompt itself with a result of the wrong shape
 *     error TEXT                answers the prompt with an error
 *     stop REASON [JSON]        answers with that stop reason, JSON as `_meta`
 *     ignore-cancel             from here on cancellation and SIGTERM do nothing
 *     crash [CODE]              exits at once
 *     die SIGNAL                sends itself a signal
 *     hang                      never answers; cancellation is obeyed unless ignored
 *     again SCRIPT              is carried out when its JSON is found wrong (`\n` in SCRIPT is a line break)
 *
 * A message of `tasks.ts` stands for its script. Anything else is echoed: a thought, a message, a tool call with a diff.
 * The command line takes `--silent` (never answers anything), `--deaf` (never reads), `--crash` (exits at once),
 * `--no-load` (cannot load sessions) and `--refuse-load` (will not).
 */
const flags = new Set(process.argv.slice(2))
if (flags.has('--crash')) process.exit(7)

interface Turn {
  readonly client: AgentContext
  readonly sessionId: string
  readonly cancelled: AbortSignal
  ignoresCancel: boolean
  toolCalls: number
}

/** Ends the turn early with this answer. */
class Answer {
  readonly response: PromptResponse
  constructor(response: PromptResponse) {
    this.response = response
  }
}

const running = new Map<string, AbortController>()
let sessions = 0
let servers: readonly unknown[] = []
let loaded = false
let correction = ''
const memory = join(homedir(), '.scripted/memory')

async function prompt(turn: Turn, script: string): Promise<PromptResponse> {
  try {
    for (const line of script.split('\n')) {
      if (line.trim() === '') continue
      const [, name = '', rest = ''] = /^(\S+)\s?(.*)$/s.exec(line) ?? []
      const instruction = Object.hasOwn(instructions, name) ? instructions[name] : undefined
      await (instruction ? instruction(turn, rest) : echo(turn, line))
      stopIfCancelled(turn)
    }
    return { stopReason: 'end_turn' }
  } catch (outcome) {
    if (outcome instanceof Answer) return outcome.response
    throw outcome
  }
}

const instructions: Readonly<Record<string, (turn: Turn, rest: string) => Promise<void> | void>> = {
  say: (turn, text) => message(turn, text.replaceAll('\\n', '\n')),
  think: (turn, text) => update(turn, { sessionUpdate: 'agent_thought_chunk', content: { type: 'text', text } }),
  leak: async (turn, rest) => {
    const [name = '', size = ''] = rest.split(' ')
    const value = process.env[name] ?? ''
    for (let at = 0; at < value.length; at += Number(size)) await message(turn, value.slice(at, at + Number(size)))
  },
  tool: (turn, title) => tool(turn, title),
  open: (turn, title) => openTool(turn, title).then(() => {}),
  edit: async (turn, rest) => {
    const [path = '', oldText = '', newText = ''] = rest.split(' ')
    await edit(turn, path, oldText, newText)
  },
  write: async (turn, rest) => {
    const [, path = '', text = ''] = /^(\S+)\s(.*)$/s.exec(rest) ?? []
    const [oldText, newText] = [existsSync(path) ? readFileSync(path, 'utf8') : '', text.replaceAll('\\n', '\n')]
    writeFileSync(path, newText)
    await edit(turn, path, oldText, newText)
  },
  count: async (turn, n) => {
    for (let i = 1; i <= Number(n); i += 1) await message(turn, `${i} `)
  },
  tools: async (turn, n) => {
    for (let i = 1; i <= Number(n); i += 1) await tool(turn, `step ${i}`)
  },
  wait: (turn, path) => fileOrCancel(turn, path),
  remember: (_, text) => {
    mkdirSync(dirname(memory), { recursive: true })
    appendFileSync(memory, `${text} `)
  },
  recall: turn => message(turn, `${loaded ? 'loaded' : 'new'}: ${readFileSync(memory, 'utf8').trim()}`),
  again: (_, script) => {
    correction = script.replaceAll('\\n', '\n')
  },
  model: async (turn, body) => message(turn, `model: ${await askModel(body)}`),
  side: async (_, body) => {
    await askModel(body)
  },
  servers: turn => message(turn, JSON.stringify(servers)),
  present: (_, name) => {
    writeFileSync(name, name)
    execFileSync('/opt/berth/berth-present', [name])
  },
  permission: async (turn, title) => {
    const toolCallId = await openTool(turn, title)
    const call = { toolCallId, title, kind: 'execute' as const, rawInput: { command: title } }
    await message(turn, `permission: ${await permission(turn, call, choices)}`)
  },
  allow: async (turn, title) => {
    const toolCallId = await openTool(turn, title)
    const call = { toolCallId, title, kind: 'execute' as const, rawInput: { command: title } }
    const outcome = await permission(turn, call, choices)
    if (outcome !== 'yes') return await message(turn, `I was not allowed to: ${outcome}.`)
    await update(turn, { sessionUpdate: 'tool_call_update', toolCallId, status: 'completed' })
  },
  options: async (turn, rest) => {
    const toolCallId = await openTool(turn, 'options')
    await message(turn, `permission: ${await permission(turn, { toolCallId }, JSON.parse(rest))}`)
  },
  hasty: async (turn, title) => {
    const toolCallId = await openTool(turn, title)
    const hasty = new AbortController()
    const pending = permission(turn, { toolCallId, title }, choices, hasty.signal)
    hasty.abort()
    await message(turn, await pending.catch(error => `permission: ${error.message}`))
  },
  leave: async (turn, title) => {
    const toolCallId = await openTool(turn, title)
    permission(turn, { toolCallId, title }, choices).catch(() => {})
    await message(turn, 'not waiting')
  },
  plan: async (turn, text) => {
    await message(turn, `plan: ${await plan(turn, text)}`)
  },
  propose: async (turn, text) => {
    await plan(turn, text.replaceAll('\\n', '\n'))
  },
  todo: (turn, rest) => {
    const entries = (JSON.parse(rest) as [string, PlanEntry['status']][]).map(
      ([content, status]): PlanEntry => ({ content, status, priority: 'medium' }),
    )
    return update(turn, { sessionUpdate: 'plan', entries })
  },
  ask: async (turn, rest) => {
    const form = JSON.parse(rest, (_, value: unknown) =>
      typeof value === 'string' ? value.replaceAll(/%(\w+)%/g, (_, name: string) => process.env[name] ?? '') : value,
    )
    await message(turn, JSON.stringify(await elicit(turn, form)))
  },
  choose: async (turn, rest) => {
    await elicit(turn, JSON.parse(rest))
  },
  asking: async (turn, rest) => {
    const toolCallId = await openTool(turn, 'asking')
    await message(turn, JSON.stringify(await elicit(turn, { toolCallId, ...JSON.parse(rest) })))
    await update(turn, { sessionUpdate: 'tool_call_update', toolCallId, status: 'completed' })
  },
  asks: async (turn, n) => {
    const question = (_: unknown, i: number) => elicit(turn, { message: `question ${i}`, requestedSchema: {} })
    const answers = await Promise.all(Array.from({ length: Number(n) }, question))
    const count = (action: string) => answers.filter(answer => answer.action === action).length
    await message(turn, `accepted ${count('accept')}, cancelled ${count('cancel')}`)
  },
  big: async (turn, bytes) => {
    const text = 'x'.repeat(Number(bytes))
    const oneOf = ['x', 'y'].map(value => ({ const: value, title: text }))
    const properties = { [text]: { type: 'string' }, a: { type: 'string', title: text, oneOf } }
    await message(turn, (await elicit(turn, { message: text, requestedSchema: { properties } })).action)
  },
  tell: async (turn, rest) => {
    const [, type = '', data = ''] = /^(\S+)\s*(.*)$/s.exec(rest) ?? []
    const params = { sessionId: turn.sessionId, type, data: JSON.parse(data || '{}') }
    await raw(Buffer.from(`${JSON.stringify({ jsonrpc: '2.0', method: '_berth/event', params })}\n`))
  },
  delegated: async (turn, rest) => {
    const [, delegationId = '', title = ''] = /^(\S+)\s*(.*)$/s.exec(rest) ?? []
    turn.toolCalls += 1
    const toolCallId = `call-${turn.toolCalls}`
    const _meta = { berth: { delegationId } }
    await update(turn, { sessionUpdate: 'tool_call', toolCallId, title, kind: 'read', status: 'completed', _meta })
  },
  noise: () => raw(Buffer.from('Loading model…\n\n{"half":\n[debug] \xff\xfe\x00 bytes\nnull\n42\n"text"\n', 'latin1')),
  stderr: async (_, n) => {
    for (let i = 1; i <= Number(n); i += 1) process.stderr.write(`warning ${i}\n`)
  },
  flood: async (_, bytes) => {
    const block = Buffer.alloc(64 * 1024, 'x')
    for (let left = Number(bytes); left > 0; left -= block.length) await raw(block.subarray(0, left))
    await raw(Buffer.from('\n'))
  },
  endless: async turn => {
    for (let i = 0; ; i += 1) {
      await message(turn, `line ${i} `)
      // The pipe may take everything at once; without this pause, the agent would not read a cancellation.
      if (i % 100 === 0) await nextTurnOfTheLoop()
      stopIfCancelled(turn)
    }
  },
  garbage: turn => {
    const updates = [
      { sessionUpdate: 'no_such_update', what: 1 },
      { sessionUpdate: 'tool_call' },
      { sessionUpdate: 'agent_message_chunk', content: 'not a block' },
      null,
    ]
    const messages = [
      { hello: 'world' },
      { jsonrpc: '1.0', method: 'x' },
      { jsonrpc: '2.0', id: 987_654, result: {} },
      { jsonrpc: '2.0', id: 'nobody', error: { code: 'x' } },
      { jsonrpc: '2.0', method: 'session/update', params: { sessionId: 'another', update: {} } },
      ...updates.map(item => ({
        jsonrpc: '2.0',
        method: 'session/update',
        params: { sessionId: turn.sessionId, update: item },
      })),
      { jsonrpc: '2.0', id: 55, method: 'no/such_method', params: {} },
      [{ jsonrpc: '2.0', method: 'batch' }],
    ]
    return raw(Buffer.from(messages.map(item => `${JSON.stringify(item)}\n`).join('')))
  },
  'bad-result': () => {
    throw new Answer({ stopReason: 12, wrong: true } as unknown as PromptResponse)
  },
  error: (_, text) => {
    throw RequestError.internalError(undefined, text)
  },
  stop: (_, rest) => {
    const [, reason = 'end_turn', meta = ''] = /^(\S+)\s*(.*)$/s.exec(rest) ?? []
    const response = { stopReason: reason, ...(meta ? { _meta: JSON.parse(meta) } : {}) }
    throw new Answer(response as PromptResponse)
  },
  'ignore-cancel': turn => {
    turn.ignoresCancel = true
    process.on('SIGTERM', () => {})
  },
  crash: (_, code) => process.exit(Number(code || 1)),
  die: (_, signal) => {
    process.kill(process.pid, signal)
    return new Promise(() => {})
  },
  hang: turn => cancellation(turn),
}

const choices = [
  { optionId: 'yes', name: 'Allow', kind: 'allow_once' },
  { optionId: 'always', name: 'Always allow', kind: 'allow_always' },
  { optionId: 'no', name: 'Reject', kind: 'reject_once' },
] as const

/** Sends the model gateway a request, and returns the status of its answer. */
async function askModel(body: string): Promise<number> {
  const path = 'input' in JSON.parse(body) ? 'responses' : 'chat/completions'
  const headers = { 'content-type': 'application/json' }
  const answer = await fetch(`http://127.0.0.1:3128/v1/${path}`, { method: 'POST', headers, body })
  await answer.text()
  return answer.status
}

/** Asks to leave plan mode, and returns the outcome. */
async function plan(turn: Turn, text: string): Promise<string> {
  turn.toolCalls += 1
  const content = [{ type: 'content' as const, content: { type: 'text' as const, text } }]
  const call = { toolCallId: `call-${turn.toolCalls}`, title: 'Ready?', kind: 'switch_mode' as const, content }
  return await permission(turn, call, choices)
}

/** Asks for permission and returns the chosen option with its extras, or `cancelled`. */
async function permission(
  turn: Turn,
  toolCall: ToolCallUpdate,
  options: readonly PermissionOption[],
  cancellationSignal?: AbortSignal,
): Promise<string> {
  const params = { sessionId: turn.sessionId, toolCall, options: [...options] }
  const { outcome, _meta } = await turn.client.request<RequestPermissionResponse>(
    methods.client.session.requestPermission,
    params,
    cancellationSignal === undefined ? {} : { cancellationSignal },
  )
  const suffix = _meta ? ` ${JSON.stringify(_meta['berth'])}` : ''
  return (outcome.outcome === 'selected' ? outcome.optionId : 'cancelled') + suffix
}

function elicit(turn: Turn, form: object): Promise<CreateElicitationResponse> {
  const params = { mode: 'form', sessionId: turn.sessionId, ...form } as CreateElicitationRequest
  return turn.client.request(methods.client.elicitation.create, params)
}

async function echo(turn: Turn, text: string): Promise<void> {
  await update(turn, { sessionUpdate: 'agent_thought_chunk', content: { type: 'text', text: 'I repeat that.' } })
  await message(turn, text)
  await edit(turn, '/workspace/echo.txt', '', text)
}

function update(turn: Turn, body: SessionUpdate): Promise<void> {
  return turn.client.notify(methods.client.session.update, { sessionId: turn.sessionId, update: body })
}

function message(turn: Turn, text: string): Promise<void> {
  return update(turn, { sessionUpdate: 'agent_message_chunk', content: { type: 'text', text } })
}

async function openTool(turn: Turn, title: string): Promise<string> {
  turn.toolCalls += 1
  const toolCallId = `call-${turn.toolCalls}`
  await update(turn, { sessionUpdate: 'tool_call', toolCallId, title, kind: 'execute', status: 'in_progress' })
  return toolCallId
}

async function tool(turn: Turn, text: string): Promise<void> {
  const [title = '', output = `did ${title}`] = text.split(' => ')
  const toolCallId = await openTool(turn, title)
  const content = [
    { type: 'content' as const, content: { type: 'text' as const, text: output.replaceAll('\\n', '\n') } },
  ]
  await update(turn, { sessionUpdate: 'tool_call_update', toolCallId, status: 'completed', content })
}

async function edit(turn: Turn, path: string, oldText: string, newText: string): Promise<void> {
  turn.toolCalls += 1
  const toolCallId = `call-${turn.toolCalls}`
  const content = [{ type: 'diff' as const, path, oldText, newText }]
  await update(turn, { sessionUpdate: 'tool_call', toolCallId, title: `edit ${path}`, kind: 'edit', status: 'pending' })
  await update(turn, { sessionUpdate: 'tool_call_update', toolCallId, status: 'completed', content })
}

function stopIfCancelled(turn: Turn): void {
  if (turn.cancelled.aborted && !turn.ignoresCancel) throw new Answer({ stopReason: 'cancelled' })
}

function cancellation(turn: Turn): Promise<never> {
  const { promise, reject } = Promise.withResolvers<never>()
  const check = () => {
    if (!turn.ignoresCancel) reject(new Answer({ stopReason: 'cancelled' }))
  }
  if (turn.cancelled.aborted) check()
  else turn.cancelled.addEventListener('abort', check)
  return promise
}

async function fileOrCancel(turn: Turn, path: string): Promise<void> {
  const { promise: appeared, resolve } = Promise.withResolvers<void>()
  const check = () => {
    if (existsSync(path)) resolve()
  }
  const watcher = watch(dirname(path), (_, name) => {
    if (name === null || name === basename(path)) check()
  })
  check()
  try {
    await Promise.race([appeared, cancellation(turn)])
  } finally {
    watcher.close()
  }
}

/** Bypasses the SDK's writer, which is idle while an instruction runs. */
function raw(bytes: Buffer): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  process.stdout.write(bytes, () => resolve())
  return promise
}

/** Returns the script, without the order to answer with JSON. */
function textOf(blocks: readonly ContentBlock[]): string {
  return blocks
    .flatMap(block => (block.type === 'text' ? [block.text] : []))
    .filter(text => !text.startsWith('Your answer has to be JSON'))
    .map(text => (text.startsWith('The JSON of your last message') ? correction : text))
    .join('\n')
}

function serve(): void {
  const app = agent({ name: 'scripted-agent' })
    .onRequest(methods.agent.initialize, () => ({
      protocolVersion: PROTOCOL_VERSION,
      agentInfo: { name: 'scripted-agent', version: '1.0.0' },
      agentCapabilities: { loadSession: !flags.has('--no-load') },
    }))
    .onRequest(methods.agent.session.new, ({ params }) => {
      servers = params.mcpServers
      sessions += 1
      return { sessionId: `scripted-${sessions}` }
    })
    .onNotification(methods.agent.session.cancel, ({ params }) => running.get(params.sessionId)?.abort())
    .onRequest(methods.agent.session.prompt, async ({ params, client }) => {
      const cancel = new AbortController()
      running.set(params.sessionId, cancel)
      const turn = {
        client,
        sessionId: params.sessionId,
        cancelled: cancel.signal,
        ignoresCancel: false,
        toolCalls: 0,
      }
      return prompt(turn, scriptOf(textOf(params.prompt)))
    })
  if (!flags.has('--no-load')) {
    app.onRequest(methods.agent.session.load, ({ params }) => {
      servers = params.mcpServers
      if (flags.has('--refuse-load')) throw RequestError.internalError(undefined, 'no such conversation')
      loaded = true
      return {}
    })
  }
  const input = Readable.toWeb(process.stdin) as ReadableStream<Uint8Array>
  app.connect(ndJsonStream(Writable.toWeb(process.stdout), input))
}

if (flags.has('--silent')) process.stdin.resume()
else if (flags.has('--deaf')) setInterval(() => {}, 1 << 30)
else serve()
