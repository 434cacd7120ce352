import { createHash, randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Session } from '@berth/contract'
import { readNamedBlobs } from '@berth/core/housekeeping/named-blobs.ts'
import { mintRuntimeCredential } from '@berth/core/identity/runtime-credentials/runtime-credential.ts'
import { builtInRuntimes } from '@berth/core/runtimes/built-in.ts'
import { configuredModels } from '@berth/core/runtimes/configured-models.ts'
import { insidePaths } from '@berth/sandboxes/inside-paths.ts'
import { Api } from '@berth/testing/api/api.ts'
import { createInstallation } from '@berth/testing/api/tenant.ts'
import { says } from '@berth/testing/models/scripted-upstream.ts'
import { activitiesOf, type EndedRun, endedRun, outcomeOf, startsOf } from '@berth/testing/runs/ended-run.ts'
import { type GatewayService, startGatewayService } from '@berth/testing/services/gateway-service.ts'
import { workerContext } from '@berth/testing/services/worker-context.ts'
import { until } from '@berth/testing/until.ts'
import { touch } from '@berth/testing/workspaces/workspace.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { ExecutionLimits } from '../../src/claim/execution-context.ts'
import { Sweeper } from '../../src/host/sweeper.ts'
import { Worker } from '../../src/worker.ts'

const bundles = resolve(dirname(fileURLToPath(import.meta.resolve('@berth/supervisor'))), '../dist')
// The bundler breaks long lines within texts, wherever they happen to be long.
const builtIn = readFileSync(join(bundles, 'engine.cjs'), 'utf8').replaceAll(/(?<!\\)((?:\\\\)*)\\\n/g, '$1')
const sha256Of = (content: string | Buffer) => createHash('sha256').update(content).digest('hex')

/** Returns the built engine with a part of its text replaced. */
function changed(text: string, by: string): string {
  if (!builtIn.includes(text)) throw new Error(`the engine does not contain ${text}`)
  return builtIn.replaceAll(text, by)
}
const prompted = 'You are a coding agent that works on its own'
const marked = (marker: string) => changed(prompted, `${marker} ${prompted}`)
const candidate = marked('CANDIDATE')

let service: GatewayService
beforeAll(async () => {
  service = await startGatewayService({ models: { default: 'main/m1' } })
})
afterAll(() => service[Symbol.asyncDispose]())

/** Starts a worker and a sweeper that run the built-in runtimes, until the stack is disposed of. */
async function work(stack: AsyncDisposableStack, limits: Partial<ExecutionLimits> = {}): Promise<void> {
  const { test } = service
  const context = await workerContext(test, stack, {
    limits,
    runtimes: builtInRuntimes(insidePaths, { hasModels: true }).filter(({ id }) => id === 'native'),
    gateway: { url: () => test.url, mint: run => mintRuntimeCredential(test.db.database, run, new Date()) },
  })
  const models = { models: configuredModels(test.service.settings.config), defaultModel: 'main/m1' }
  for (const part of [new Worker({ ...context, ...models }), new Sweeper({ ...context, ...models })]) {
    await stack.use(part).start()
  }
}

/** An installation of its own, so that no test meets another's probe. */
async function newInstallation(): Promise<Api> {
  const { organizationId, appSlug } = service.test.tenant
  return new Api(service.test.url, (await createInstallation(service.test.db.database, organizationId, appSlug)).apiKey)
}

/** Uploads an engine and activates it. */
async function activate(api: Api, engine: string): Promise<string> {
  const releaseSha = randomBytes(20).toString('hex')
  const path = `/v1/runtime-release-probe/${releaseSha}`
  const headers = { authorization: `Bearer ${api.key}`, 'content-type': 'application/octet-stream' }
  expect((await fetch(`${api.url}${path}/engine`, { method: 'PUT', headers, body: engine })).status).toBe(200)
  expect((await api.put(path, { engine: { sha256: sha256Of(engine) } })).status).toBe(200)
  return releaseSha
}

const deactivate = (api: Api, releaseSha: string) => api.call('DELETE', `/v1/runtime-release-probe/${releaseSha}`)

async function settled(api: Api, session: Session, runId = session.activeRunId ?? ''): Promise<EndedRun> {
  const run = await endedRun(api, session, runId)
  await until('the end of sealing', async () => (await api.session(session.id)).phase === 'idle')
  return run
}

const begin = async (api: Api, body: Record<string, unknown> = {}) =>
  settled(api, await api.createSession(body, 'Begin'))
const next = async (api: Api, session: Session, message: string) =>
  settled(api, session, (await api.submitTurn(session.id, message)).run.id)

async function loseSandbox(api: Api, session: Session): Promise<void> {
  await service.test.db.database.query(
    "update leases set expires_at = 'epoch' where session_id = $1 and ended_at is null",
    [session.id],
  )
  await until('an expired sandbox', async () => (await api.session(session.id)).workspace.state === 'expired')
}

const releaseOf = (run: EndedRun) => startsOf(run).map(start => start['releaseSha'])
/** Returns which engine asked the model last: its marker, or `built in`. */
function lastPrompt(): string {
  const body = JSON.stringify(service.upstream.requests.at(-1)?.body)
  return new RegExp(`(\\w+) ${prompted}`).exec(body)?.[1] ?? (body.includes(prompted) ? 'built in' : 'nobody')
}
const bash = (command: string) => says({ calls: [{ name: 'bash', args: { command } }] })

describe('a candidate', () => {
  it("runs in the sandboxes of its installation alone, read-only, and nothing else of it is the candidate's", async () => {
    await using stack = new AsyncDisposableStack()
    await work(stack)
    const [own, sibling] = [await newInstallation(), await newInstallation()]
    const other = await activate(sibling, marked('SIBLING'))
    const releaseSha = await activate(own, candidate)
    const inspection = `cd ${insidePaths.bundles}; sha256sum engine.cjs supervisor.js shell.js tree.cjs; echo >> engine.cjs || rm -f engine.cjs; sha256sum engine.cjs`
    service.upstream.next(bash(inspection), says({ text: 'Done.' }))
    const run = await begin(own)
    expect([outcomeOf(run), releaseOf(run), lastPrompt()]).toEqual([
      'completed completed - 1',
      [releaseSha],
      'CANDIDATE',
    ])
    const output = String(activitiesOf(run)[0]?.['output'])
    const digests = [...output.matchAll(/^([a-f0-9]{64}) {2}(\S+)$/gm)].map(([, digest, name]) => `${name} ${digest}`)
    const fileOf = (name: string) => `${name} ${sha256Of(readFileSync(join(bundles, name)))}`
    expect(digests).toEqual([
      `engine.cjs ${sha256Of(candidate)}`,
      ...['supervisor.js', 'shell.js', 'tree.cjs'].map(fileOf),
      `engine.cjs ${sha256Of(candidate)}`,
    ])
    expect(output).toContain('Read-only file system')

    service.upstream.next(says({ text: 'Done.' }))
    const siblingRun = await begin(sibling)
    expect([releaseOf(siblingRun), lastPrompt()]).toEqual([[other], 'SIBLING'])
    const untouched = await begin(await newInstallation())
    expect([releaseOf(untouched), lastPrompt()]).toEqual([[undefined], 'built in'])
  })

  it('replaces no other runtime, and no engine of a sandbox that already lives', async () => {
    await using stack = new AsyncDisposableStack()
    await work(stack)
    const api = await newInstallation()
    service.upstream.next(says({ text: 'Done.' }))
    const before = await begin(api)
    const releaseSha = await activate(api, candidate)
    const after = await next(api, before.session, 'Again')
    expect([releaseOf(after), lastPrompt()]).toEqual([[undefined], 'built in'])
    const shell = await settled(api, await api.createSession({ runtime: 'shell' }, 'true'))
    expect([outcomeOf(shell), releaseOf(shell)]).toEqual(['completed completed - 1', [undefined]])
    expect(releaseOf(await begin(api))).toEqual([releaseSha])
  })

  it('stays with its sandbox when the probe ends or expires; the next sandbox continues with the next engine', async () => {
    await using stack = new AsyncDisposableStack()
    await work(stack)
    const api = await newInstallation()
    const releaseSha = await activate(api, candidate)
    service.upstream.next(says({ text: 'The word is quay.' }))
    const { session } = await begin(api)
    const { database } = service.test.db
    await database.query("update runtime_release_probes set expires_at = 'epoch' where release_sha = $1", [releaseSha])
    const expired = await next(api, session, 'Again')
    expect([releaseOf(expired), lastPrompt()]).toEqual([[releaseSha], 'CANDIDATE'])
    await deactivate(api, releaseSha)
    expect(releaseOf(await next(api, session, 'And again'))).toEqual([releaseSha])
    // The collector knows the engine for as long as the sandbox lives.
    expect(await Array.fromAsync(readNamedBlobs(database))).toContain(sha256Of(candidate))
    await loseSandbox(api, session)
    const later = await next(api, session, 'Which word?')
    expect([outcomeOf(later), releaseOf(later), lastPrompt()]).toEqual([
      'completed completed - 1',
      [undefined],
      'built in',
    ])
    const prompt = JSON.stringify(service.upstream.requests.at(-1)?.body)
    expect(prompt).toContain('The word is quay.')
    expect(prompt).not.toContain('Earlier in this conversation')
  })

  it('stays with its sandbox when another worker takes over', async () => {
    await using stack = new AsyncDisposableStack()
    const api = await newInstallation()
    const releaseSha = await activate(api, candidate)
    service.upstream.next(bash('touch began; until [ -e go ]; do sleep 0.05; done'), says({ text: 'Done.' }))
    const session = await api.createSession({}, 'Begin')
    {
      await using first = new AsyncDisposableStack()
      await work(first)
      await until('a working agent', async () =>
        (await api.events(session.id)).some(event => event.type === 'svc.run.progress'),
      )
    }
    await deactivate(api, releaseSha)
    await work(stack)
    await touch(service.test.db.database, service.test.dataDir, session, 'go')
    const run = await settled(api, session)
    expect([outcomeOf(run), releaseOf(run), lastPrompt()]).toEqual([
      'completed completed - 1',
      [releaseSha],
      'CANDIDATE',
    ])
    const { rows } = await service.test.db.database.query('select id from leases where session_id = $1', [session.id])
    expect(rows).toHaveLength(1)
  })

  it('that never answers initialize fails the Run, and nothing else is tried', async () => {
    await using stack = new AsyncDisposableStack()
    // bound: it is to be over
    await work(stack, { agentStartMs: 1500 })
    const api = await newInstallation()
    await activate(api, 'process.stdin.resume()')
    const prompt = service.upstream.requests.length
    const run = await begin(api)
    expect(outcomeOf(run)).toBe('failed error runtime_start_failed 1')
    expect([startsOf(run), service.upstream.requests.length]).toEqual([[], prompt])
  })

  it('that refuses the conversation of another engine is told what was said', async () => {
    await using stack = new AsyncDisposableStack()
    await work(stack)
    const api = await newInstallation()
    service.upstream.next(says({ text: 'The word is quay.' }))
    const { session } = await begin(api)
    const releaseSha = await activate(api, changed('session_load:"session/load"', 'session_load:"session/none"'))
    await loseSandbox(api, session)
    const run = await next(api, session, 'Which word?')
    expect([outcomeOf(run), releaseOf(run)]).toEqual(['completed completed - 1', [releaseSha]])
    expect(JSON.stringify(service.upstream.requests.at(-1)?.body)).toMatch(
      /Earlier in this conversation.*The word is quay\./,
    )
    await loseSandbox(api, session)
    expect((await api.session(session.id)).continuation).toMatchObject({ conversation: { fidelity: 'result_only' } })
  })
})
