import { randomUUID } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import type { Event, Interaction, Session } from '@berth/contract'
import { setSessionBudget } from '@berth/core/accounting/pausing-budgets.ts'
import { linkTestedAgents, testedAgentDirectory } from '@berth/testing/agents/foreign-agents.ts'
import { anthropicWire } from '@berth/testing/models/anthropic-wire.ts'
import { geminiWire } from '@berth/testing/models/gemini-wire.ts'
import type { ModelReply, ModelRequest, ToolCall, WireFormat } from '@berth/testing/models/model-server.ts'
import { openaiWire } from '@berth/testing/models/openai-wire.ts'
import { type ScriptedUpstream, startScriptedUpstream } from '@berth/testing/models/scripted-upstream.ts'
import { startTestService, type TestService } from '@berth/testing/services/service.ts'
import { until } from '@berth/testing/until.ts'
import { workspacePath } from '@berth/testing/workspaces/workspace.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const providerKey = 'sk-provider-secret-for-agents'

const codexDirectory = testedAgentDirectory('codex')

const stack = new AsyncDisposableStack()
let test: TestService
let upstream: ScriptedUpstream

beforeAll(async () => {
  upstream = stack.use(await startScriptedUpstream())
  const price = { input: 1, cachedInput: 0.5, output: 10 }
  const models = ['m1', 'm2'].map(id => ({ id, contextTokens: 128_000, outputTokens: 8192, reasoning: true, price }))
  test = stack.use(
    await startTestService({
      // The agents alone take 400 MB.
      variables: { BERTH_SANDBOX_MEMORY_BYTES: String(1536 * 1024 ** 2), BERTH_METRICS_PORT: '0' },
      fixed: { agentStartMs: 240_000 },
      config: {
        providers: [
          { id: 'main', kind: 'openai', baseUrl: upstream.baseUrl, apiKey: providerKey, models },
          { id: 'claude', kind: 'anthropic', baseUrl: upstream.baseUrl, apiKey: providerKey, models },
          { id: 'google', kind: 'google', baseUrl: `${upstream.baseUrl}beta`, apiKey: providerKey, models },
        ],
        models: { default: 'main/m1' },
        // Codex asks nobody with its entry in the catalog, so this entry sets another mode.
        runtimes: [
          { id: 'codex-asking', base: 'codex', env: { INITIAL_AGENT_MODE: 'workspace-write' } },
          { id: 'codex-shell', command: ['node', '/opt/berth/bundles/shell.js'], mounts: [codexDirectory] },
        ],
      },
      prepare: linkTestedAgents,
    }),
  )
}, 600_000)
afterAll(() => stack.disposeAsync())

/** Answers requests for work from the script, in order, and requests for a title with one. */
function script(wire: WireFormat, ...replies: ModelReply[]): void {
  upstream.next((request, response) => {
    const { tools } = request.body as { tools?: unknown[] }
    const works = tools !== undefined && tools.length > 0
    const reply = works ? (replies.shift() ?? { text: 'The script is at its end.' }) : { text: '{"title":"A title"}' }
    wire.write(reply, request, response)
  })
}

const modelsOf = (requests: readonly ModelRequest[]) =>
  new Set(requests.map(({ body, path }) => (body as { model?: string }).model ?? /models\/([^:]+):/.exec(path)?.[1]))

/** On a busy machine, the first start of an agent has taken more than a minute. */
const startMs = 240_000

async function openInteraction({ id }: Session): Promise<Interaction> {
  const read = async () => {
    const { body } = await test.api.get<{ interactions: Interaction[] }>(`/v1/sessions/${id}/interactions`)
    const [interaction] = body.interactions
    if (interaction === undefined && ((await test.api.session(id)).activeRunId ?? null) === null)
      throw new Error('the run has ended')
    return interaction
  }
  return until('an approval', read, startMs)
}

/** Returns an open Interaction, or null once the Run has ended. */
const untilOpenOrEnded = ({ id }: Session, runId: string): Promise<Interaction | null> =>
  until(
    'a question or the end',
    async () => {
      const { body } = await test.api.get<{ interactions: Interaction[] }>(`/v1/sessions/${id}/interactions`)
      return body.interactions[0] ?? ((await test.api.run(id, runId)).endedAt === undefined ? undefined : null)
    },
    startMs,
  )

async function allow(session: Session, { id, request }: Interaction): Promise<void> {
  const body = { requestId: request.approval?.requestId, choice: 'allow_once', idempotencyKey: randomUUID() }
  const { status } = await test.api.put(`/v1/sessions/${session.id}/interactions/${id}/decision`, body)
  expect(status).toBe(200)
}

/** Returns the form in which the last seal kept the conversation. */
async function conversationOf(session: Session): Promise<unknown> {
  await until('the seal', async () => (await test.api.session(session.id)).phase === 'idle')
  const { rows } = await test.db.database.query<{ conversation: string }>(
    'select conversation from checkpoints where session_id = $1 order by sealed_at desc limit 1',
    [session.id],
  )
  return rows[0]?.conversation
}

/** Makes the workspace a repository with more files than a conversation may have. */
const repository =
  'git init -q . && touch $(seq 40) && git add -A && git -c user.name=a -c user.email=a@b commit -qm files'

const fileOf = async (session: Session, name: string) =>
  readFile(await workspacePath(test.db.database, test.dataDir, session, name), 'utf8')

const data = (events: readonly Event[], type: string) =>
  events.filter(event => event.type === `svc.${type}`).map(event => event.data)

interface Agent {
  readonly runtime: string
  readonly wire: WireFormat
  /** Id of the provider, and the requests that it gets. */
  readonly provider: string
  readonly path: RegExp
  readonly key: readonly [header: string, value: string]
  /** Makes the agent's own tool call that runs a shell command. */
  readonly shell: (command: string) => ToolCall
  /** A tool whose work the agent gives to a model of its own, without asking people. */
  readonly chore?: ToolCall
}

const openai = { wire: openaiWire, provider: 'main', key: ['authorization', `Bearer ${providerKey}`] } as const

const agents: readonly Agent[] = [
  {
    ...openai,
    runtime: 'opencode',
    path: /^\/v1\/chat\/completions$/,
    shell: command => ({ name: 'bash', args: { command, description: 'runs it' } }),
  },
  {
    ...openai,
    runtime: 'codex-asking',
    path: /^\/v1\/responses$/,
    shell: cmd => ({
      name: 'exec_command',
      args: { cmd, sandbox_permissions: 'require_escalated', justification: 'May I?' },
    }),
  },
  {
    runtime: 'claude-code',
    wire: anthropicWire,
    provider: 'claude',
    path: /^\/v1\/messages\?beta=true$/,
    key: ['x-api-key', providerKey],
    shell: command => ({ name: 'Bash', args: { command, description: 'runs it' } }),
  },
  {
    runtime: 'gemini',
    wire: geminiWire,
    provider: 'google',
    path: /^\/v1beta\/models\/m\d:(?:streamGenerateContent\?alt=sse|generateContent)$/,
    key: ['x-goog-api-key', providerKey],
    shell: command => ({ name: 'run_shell_command', args: { command } }),
    chore: { name: 'google_web_search', args: { query: 'steps' } },
  },
]

describe.each(agents)('$runtime', ({ runtime, wire, provider, path, key, shell, chore }) => {
  it("edits in steps after a person has allowed it, with the gateway's models", { timeout: 300_000 }, async () => {
    const before = upstream.requests.length
    const work = { calls: [shell('printf "one\\n" > steps.txt && env > env.txt')] }
    const chores = chore === undefined ? [] : [{ calls: [chore] }, { text: 'Nothing was found.' }]
    script(wire, ...chores, work, { text: 'The first is done.' })
    const session = await test.api.createSession({ runtime }, 'Write the steps down.')
    const interaction = await openInteraction(session)
    expect(interaction).toMatchObject({ kind: 'approval', status: 'open', request: { approval: { kind: 'execute' } } })
    await allow(session, interaction)
    const first = await test.api.runEnded(session.id, session.activeRunId ?? '')
    expect(first.at(-1)).toMatchObject({ type: 'svc.run.completed' })
    expect(data(first, 'interaction.resolved')).toMatchObject([{ resolution: 'approved' }])
    expect(data(first, 'activity.completed').at(-1)).toMatchObject({ kind: 'execute', status: 'succeeded' })
    expect(await fileOf(session, 'env.txt')).not.toMatch(/sk-provider|svc_run/)
    expect((await test.api.run(session.id, session.activeRunId ?? '')).costUsd).toBeGreaterThan(0)

    // A second turn on another model: the agent starts again and continues its conversation.
    const changed = await test.api.call('PATCH', `/v1/sessions/${session.id}`, { model: `${provider}/m2` })
    expect(changed.status).toBe(200)
    const middle = upstream.requests.length
    script(wire, { calls: [shell('printf "two\\n" >> steps.txt && cat steps.txt')] }, { text: 'Both steps are done.' })
    const { run } = await test.api.submitTurn(session.id, 'And the second.')
    await allow(session, await openInteraction(session))
    const events = await test.api.runEnded(session.id, run.id)
    expect(await test.api.run(session.id, run.id)).toMatchObject({
      status: 'completed',
      result: { summary: 'Both steps are done.' },
    })
    const answers = data(events, 'message.created').filter(({ role }) => role === 'assistant')
    // Codex warns that it does not know these models.
    expect(answers.map(({ text }) => text).filter(text => !String(text).startsWith('Warning'))).toEqual([
      'The first is done.',
      'Both steps are done.',
    ])
    expect(events.map(event => event.sequence)).toEqual(events.map((_, index) => index + 1))
    expect(await fileOf(session, 'steps.txt')).toBe('one\ntwo\n')
    if (runtime !== 'claude-code' && runtime !== 'gemini')
      expect(data(events, 'activity.completed').at(-1)?.['output']).toContain('two\n')

    const requests = upstream.requests.slice(before)
    for (const request of requests) expect(request.path).toMatch(path)
    const [header, value] = key
    expect(new Set(requests.map(request => request.headers[header]))).toEqual(new Set([value]))
    expect(modelsOf(upstream.requests.slice(before, middle))).toEqual(new Set(['m1']))
    expect(modelsOf(upstream.requests.slice(middle))).toEqual(new Set(['m2']))
    expect(JSON.stringify(requests.at(-1)?.body)).toContain('Write the steps down.')
    expect(JSON.stringify(events)).not.toContain(providerKey)
  })
})

/** Requests of Runs that the gateway has refused so far; of one cause they share a row. */
async function refusals(): Promise<number> {
  const text = await (await fetch(`http://127.0.0.1:${test.service.metricsPort}/metrics`)).text()
  const counts = text.matchAll(/^berth_gateway_requests_total\{.*credential="runtime",outcome="failed"\} (\d+)$/gm)
  return [...counts].reduce((sum, [, count]) => sum + Number(count), 0)
}

/** Waits until an agent has given up: it has sent nothing for longer than it pauses between two attempts. */
const untilSilent = ({ id }: Session) =>
  until(
    'the agent to give up',
    async () => {
      const text = `
        select now() - max(started_at) > interval '20 seconds' as silent from gateway_requests
        where session_id = $1 and error_code = 'budget_reached'`
      return (await test.db.database.query<{ silent: boolean }>(text, [id])).rows[0]?.silent === true
    },
    startMs,
  )

/** More than any of them needs, and far from for ever. */
const MOST_REFUSALS = 12

describe.each(agents)('$runtime at a reached budget', ({ runtime, wire, shell }) => {
  it('gives up soon, waits until people raise it, and then finishes its work', { timeout: 600_000 }, async () => {
    const before = await refusals()
    script(wire, { calls: [shell('echo done > work.txt')] }, { text: 'The work is done.' })
    const session = await test.api.createSession({ runtime })
    const key = { organizationId: session.organizationId, sessionId: session.id }
    // Any request leads over it.
    await setSessionBudget(test.db.database, key, 1e-6)
    const { run } = await test.api.submitTurn(session.id, 'Do the work.')
    const interaction: string[] = []
    for (;;) {
      const open = await untilOpenOrEnded(session, run.id)
      if (open === null) break
      interaction.push(open.kind)
      if (open.kind === 'approval') await allow(session, open)
      else {
        await untilSilent(session)
        const count = (await refusals()) - before
        expect([count > 0, count <= MOST_REFUSALS]).toEqual([true, true])
        const now = await test.api.run(session.id, run.id)
        expect([now.status, now.endedAt]).toEqual(['awaiting', undefined])
        const raise = { message: '{"amountUsd":9}', replyTo: { interactionId: open.id } }
        expect((await test.api.put(`/v1/sessions/${session.id}/turns/${randomUUID()}`, raise)).status).toBe(202)
      }
    }
    expect(interaction.filter(kind => kind === 'ask_user')).toHaveLength(1)
    expect(await test.api.run(session.id, run.id)).toMatchObject({
      status: 'completed',
      stopReason: 'completed',
      attempts: 1,
      result: { summary: 'The work is done.' },
    })
    expect(await fileOf(session, 'work.txt')).toBe('done\n')
  })
})

describe('OpenCode in a repository', () => {
  it('continues its conversation in another sandbox', { timeout: 600_000 }, async () => {
    const [opencode] = agents
    const shell = opencode?.shell ?? (() => ({ name: '', args: {} }))
    const allowed = async (session: Session, runId: string) => {
      await allow(session, await openInteraction(session))
      await test.api.runEnded(session.id, runId, startMs)
      return conversationOf(session)
    }
    script(openaiWire, { calls: [shell(repository)] }, { text: 'It is one.' })
    const session = await test.api.createSession({ runtime: 'opencode' }, 'Make it a repository.')
    expect(await allowed(session, session.activeRunId ?? '')).toBe('exact')
    for (const [message, command] of [
      ['Change all files.', 'for f in $(seq 40); do echo $f > $f; done'],
      ['And again.', 'for f in $(seq 40); do echo $f $f > $f; done'],
    ] as const) {
      await test.db.database.query("update leases set expires_at = now() - interval '1 minute' where session_id = $1", [
        session.id,
      ])
      await until(
        'the end of the lease',
        async () => (await test.api.session(session.id)).workspace.state === 'expired',
      )
      script(openaiWire, { calls: [shell(command)] }, { text: 'Changed.' })
      const { run } = await test.api.submitTurn(session.id, message)
      expect(await allowed(session, run.id)).toBe('exact')
    }
    expect(JSON.stringify(upstream.requests.at(-1)?.body)).toMatch(/It is one\..*Changed\..*And again\./)
    expect(data(await test.api.events(session.id), 'artifact.omitted')).toEqual([])
  })
})

describe('an agent that speaks the format of only some models', () => {
  it('is given no other model', async () => {
    const interaction = (runtime: string, model: string) =>
      test.api.put<{ issues?: object[] }>(`/v1/sessions/${randomUUID()}`, { runtime, model })
    for (const [runtime, model] of [
      ['claude-code', 'main/m1'],
      ['claude-code', 'google/m1'],
      ['gemini', 'claude/m1'],
    ] as const) {
      const { status, body } = await interaction(runtime, model)
      expect([status, body.issues]).toMatchObject([
        400,
        [{ path: ['model'], message: expect.stringContaining(runtime) }],
      ])
    }
    expect((await interaction('gemini', 'google/m1')).status).toBe(201)
  })
})

describe("Codex's own command line", () => {
  it('works against the gateway', { timeout: 60_000 }, async () => {
    const provider = '{ name="Berth", base_url="http://127.0.0.1:3128/v1", wire_api="responses", env_key="BERTH_KEY" }'
    const command = [
      `BERTH_KEY=berth node ${codexDirectory}/node_modules/@openai/codex/bin/codex.js exec`,
      '--skip-git-repo-check --dangerously-bypass-approvals-and-sandbox -m main/m1 -c model_provider=berth',
      `-c 'model_providers.berth=${provider}' 'Count the files.' </dev/null`,
    ].join(' ')
    script(
      openaiWire,
      { calls: [{ name: 'exec_command', args: { cmd: 'touch a b c && ls | wc -l' } }] },
      { text: 'There are 3.' },
    )
    const session = await test.api.createSession({ runtime: 'codex-shell' }, command)
    const events = await test.api.runEnded(session.id, session.activeRunId ?? '')
    expect(events.at(-1)).toMatchObject({ type: 'svc.run.completed' })
    expect(JSON.stringify(events)).toContain('There are 3.')
    expect(JSON.stringify(upstream.requests.at(-1)?.body)).toContain('Output:\\n3')
  })
})
