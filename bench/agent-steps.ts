// Measures Berth's overhead on a working agent. It times a Turn of 20 tool calls, from its `PUT` to its last frame,
// against the same agent and scripted model driven directly over pipes. It also times an agent's line to a client's
// stream. Run as: node bench/agent-steps.ts [steps|codex|native] [turns] [delay of the model in milliseconds]
import { randomUUID } from 'node:crypto'
import { chmod, copyFile, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { runtimeEntries } from '../packages/core/src/runtimes/foreign/foreign-entries.ts'
import { installsIn } from '../packages/core/src/runtimes/install-runtime.ts'
import { insidePaths } from '../packages/sandboxes/src/inside-paths.ts'
import { linkTestedAgents } from '../packages/testing/src/agents/foreign-agents.ts'
import { callerOf, untilIdle } from './support/bench-api.ts'
import { openBenchDatabase } from './support/bench-database.ts'
import { startBenchService } from './support/bench-service.ts'
import { startDirectAgent } from './support/direct-agent.ts'
import { startProcess } from './support/processes.ts'
import { bundlesDir, removeSandboxes } from './support/remove-sandboxes.ts'
import { median, printBounds, quantile } from './support/statistics.ts'
import { openStream } from './support/stream-client.ts'

const STEPS = 20
const agent = process.argv[2] ?? 'steps'
const turns = Number(process.argv[3] ?? 15)
const delayMs = process.argv[4] ?? '500'
const message = 'Take all the steps.'
const gatewayInside = 'http://127.0.0.1:3128/v1'

/** The tool call that the scripted model asks each agent for. */
const calls: Readonly<Record<string, object>> = {
  steps: { name: 'bash', args: {} },
  native: { name: 'bash', args: { command: 'echo step >>steps.txt; tail -n 1 steps.txt' } },
  codex: { name: 'exec_command', args: { cmd: 'echo step >>steps.txt; tail -n 1 steps.txt' } },
}

await using bench = await openBenchDatabase()
await using removal = new AsyncDisposableStack()
removal.defer(() => removeSandboxes(bench.dataDir))
const model = removal.use(
  await startProcess([
    join(import.meta.dirname, 'support/step-model.ts'),
    String(STEPS),
    delayMs,
    JSON.stringify(calls[agent]),
  ]),
)
const modelUrl = `http://127.0.0.1:${model.line}/v1`

// A directory that sandboxes can see.
const agentDir = await mkdtemp(join(tmpdir(), 'berth-agent-'))
removal.defer(() => rm(agentDir, { recursive: true }))
await copyFile(join(import.meta.dirname, 'support/step-agent.ts'), join(agentDir, 'agent.ts'))
await chmod(agentDir, 0o755)
const runtimes = [
  {
    id: 'steps',
    name: 'steps',
    base: undefined,
    command: ['node', join(agentDir, 'agent.ts')],
    env: { OPENAI_BASE_URL: gatewayInside },
    mounts: [agentDir],
    reach: [],
    state: [],
  },
]
if (agent === 'codex') await linkTestedAgents(bench.dataDir)
const price = { input: 1, cachedInput: 0.5, output: 10 }
// Codex requests a reasoning effort from every model, and the gateway refuses that for a model that does not reason.
const models = [{ id: 'm1', contextTokens: 1_000_000, outputTokens: 8192, reasoning: agent === 'codex', price }]
const providers = [{ id: 'main', kind: 'openai', baseUrl: modelUrl, apiKey: 'sk-bench', models }]
const config = { providers, models: { default: 'main/m1' }, runtimes }
await writeFile(join(bench.dataDir, 'berth.json'), JSON.stringify(config), { mode: 0o600 })
await using service = await startBenchService(bench, {
  BERTH_ROLES: 'api,worker,gateway',
  BERTH_SANDBOX_MEMORY_BYTES: String(1536 * 1024 ** 2),
})

const call = callerOf(service.url, bench.apiKey)

/** Starts the catalog's agent outside a sandbox, connected directly to the model. */
async function direct() {
  const [cwd, home] = [join(agentDir, 'workspace'), join(agentDir, 'home')]
  for (const made of [cwd, home]) await mkdir(made)
  if (agent === 'native') {
    const env = { BERTH_GATEWAY_URL: modelUrl, HOME: home }
    return startDirectAgent({ command: [process.execPath, join(bundlesDir, 'engine.cjs')], env, cwd })
  }
  const installs = installsIn(bench.dataDir)
  const context = { speaks: () => true, installs, inside: insidePaths.runtime }
  const entry = runtimeEntries(
    runtimes.map(runtime => ({ ...runtime, secrets: [] })),
    context,
  ).find(({ id }) => id === agent)
  if (entry === undefined) throw new Error(`there is no agent ${agent}`)
  const outside = (text: string) =>
    text
      .replaceAll(insidePaths.runtime, entry.directory ?? '')
      .replaceAll(insidePaths.bundles, bundlesDir)
      .replaceAll(gatewayInside, modelUrl)
  const env = { ...entry.modelEnv?.({ id: 'main/m1', contextTokens: 1_000_000, outputTokens: 8192 }), ...entry.env }
  return startDirectAgent({
    command: entry.command.map(outside),
    env: { ...Object.fromEntries(Object.entries(env).map(([name, value]) => [name, outside(value)])), HOME: home },
    cwd,
  })
}

const toStream: { readonly started: number[]; readonly completed: number[] } = { started: [], completed: [] }
let turn = Promise.withResolvers<void>()
let stepsSeen = 0
let begunAt = 0
const tookMs = { begun: 0, worked: 0, ended: 0 }

/** Records one frame with the time of its receipt. */
function received(frame: string): void {
  const at = process.hrtime.bigint()
  const now = performance.now()
  const { type, data } = JSON.parse(frame.slice(frame.indexOf('{')))
  const sinceMs = (stamp: string) => Number(at - BigInt(stamp)) / 1e6
  if (type === 'svc.run.started') tookMs.begun = now - begunAt
  if (type === 'svc.activity.completed') {
    stepsSeen += 1
    tookMs.worked = now - begunAt
    if (agent === 'steps') toStream.completed.push(sinceMs(data.title))
  }
  if (type === 'svc.run.progress' && data.status === 'started' && agent === 'steps') {
    toStream.started.push(sinceMs(data.name))
  }
  if (/^svc\.run\.(failed|crashed|cancelled)$/.test(type)) turn.reject(new Error(`a run ended: ${frame}`))
  if (type !== 'svc.run.completed') return
  tookMs.ended = now - begunAt
  turn.resolve()
}

const sessionId = randomUUID()
await call('PUT', `/v1/sessions/${sessionId}`, { runtime: agent })
const opened = Promise.withResolvers<void>()
const stream = openStream(`${service.url}/v1/sessions/${sessionId}/events/stream`, bench.apiKey, {
  onOpen: opened.resolve,
  onFrame: (_, frame) => received(frame),
})
await opened.promise

async function throughBerth(): Promise<typeof tookMs> {
  turn = Promise.withResolvers()
  // The Turn may fail before the request that began it is answered.
  turn.promise.catch(() => undefined)
  stepsSeen = 0
  begunAt = performance.now()
  await call('PUT', `/v1/sessions/${sessionId}/turns/${randomUUID()}`, { message })
  await turn.promise
  if (stepsSeen !== STEPS) throw new Error(`${stepsSeen} steps were seen`)
  // The service seals the workspace after the Turn's end, which does not count.
  await untilIdle(call, sessionId)
  return { ...tookMs }
}

const bare: number[] = []
const through: (typeof tookMs)[] = []
{
  await using alone = await direct()
  for (let n = -2; n < turns; n += 1) {
    if (n === 0) for (const samples of Object.values(toStream)) samples.length = 0
    const [ours, theirs] = [await throughBerth(), await alone.turnMs(message)]
    if (n < 0) continue
    through.push(ours)
    bare.push(theirs)
  }
}
stream.close()

const print = (line: string) => process.stdout.write(`${line}\n`)
const row = (title: string, values: readonly number[]) =>
  print([title.padEnd(48), ...[0.1, 0.5, 0.9].map(q => quantile(values, q).toFixed(1).padStart(8))].join(''))
print(`${'milliseconds'.padEnd(48)}     p10  median     p90`)
row(
  'Turn of 20 tool calls, PUT to last frame',
  through.map(({ ended }) => ended),
)
row(
  '  of which before its first frame',
  through.map(({ begun }) => begun),
)
row(
  '  of which after the last step',
  through.map(({ ended, worked }) => ended - worked),
)
row('the same agent driven directly', bare)
if (agent === 'steps') {
  row('a call begun: written to frame', toStream.started)
  row('a call ended: written to frame', toStream.completed)
}
const ratio = median(through.map(({ ended }) => ended)) / median(bare)
printBounds({
  ...(agent === 'steps' && { step_ms: [median([...toStream.started, ...toStream.completed]), 10] }),
  turn_ratio: [ratio, Number(delayMs) >= 500 ? 1.05 : 1.15],
})
