import { randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Interaction, Session } from '@berth/contract'
import { embeddedConnection } from '@berth/platform/storage/embedded/embedded-postgres.ts'
import { openDatabase } from '@berth/platform/storage/postgres/pool.ts'
import { hostNames } from '@berth/sandboxes/leases/lease-files.ts'
import { Api } from '@berth/testing/api/api.ts'
import { destroySandboxes } from '@berth/testing/faults/destroy-sandboxes.ts'
import { localRepository } from '@berth/testing/git/local-repository.ts'
import { runDirectory } from '@berth/testing/leaks/run-directory.ts'
import { says } from '@berth/testing/models/scripted-upstream.ts'
import { endedRun, outcomeOf } from '@berth/testing/runs/ended-run.ts'
import { type GatewayService, startGatewayService } from '@berth/testing/services/gateway-service.ts'
import { silentLog } from '@berth/testing/services/log.ts'
import { shortFence } from '@berth/testing/services/service.ts'
import { startServiceProcess } from '@berth/testing/services/service-process.ts'
import { type CollectedSpan, Collector } from '@berth/testing/traces/collector.ts'
import { until } from '@berth/testing/until.ts'
import { leaseOf, touch } from '@berth/testing/workspaces/workspace.ts'
import { expect, test } from 'vitest'

const caller = { traceId: '0af7651916cd43dd8448eb211c80319c', spanId: 'b7ad6b7169203331' }

const start = (collector: Collector, more: Readonly<Record<string, string>> = {}) =>
  startGatewayService({
    variables: {
      BERTH_ROLES: 'api,gateway,worker',
      BERTH_METRICS_PORT: '0',
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Bearer%20of-the-collector',
      ...more,
    },
    models: { default: 'main/m1' },
  })

const call = (name: string, args: Readonly<Record<string, unknown>>) => says({ calls: [{ name, args }] })

/** Creates a Session with its first Turn as a caller that traces its own work. */
async function create({ test: { url, tenant } }: GatewayService, message: string): Promise<Session> {
  const answer = await fetch(`${url}/v1/sessions/${randomUUID()}`, {
    method: 'PUT',
    headers: {
      authorization: `Bearer ${tenant.apiKey}`,
      'content-type': 'application/json',
      traceparent: `00-${caller.traceId}-${caller.spanId}-01`,
    },
    body: JSON.stringify({ initialTurn: { id: randomUUID(), message } }),
  })
  return ((await answer.json()) as { session: Session }).session
}

const namesOf = (spans: readonly CollectedSpan[]) => [...new Set(spans.map(({ name }) => name))].sort()

const kinds = ['input', 'cache_read.input', 'cache_creation.input', 'output']

/** The tokens of spans of model requests, as the span of their Turn must have them. */
const sumOf = (chats: readonly CollectedSpan[]) =>
  Object.fromEntries(
    kinds.map(kind => {
      const name = `gen_ai.usage.${kind}_tokens`
      const each = chats.map(({ attributes }) => Number(attributes[name]))
      return [name, String(each.reduce((sum, count) => sum + count, 0))]
    }),
  )

test('one Turn is one trace across api, worker, gateway and sandbox, and points to its caller', async () => {
  await using collector = await Collector.start()
  const service = await start(collector)
  let runId = ''
  let sessionId = ''
  let metrics = ''
  try {
    service.upstream.next(
      call('bash', { command: 'echo secret-argument' }),
      call('ask_user', { questions: [{ question: 'Go on?', options: ['yes', 'no'] }] }),
      says({ text: 'Done.' }),
    )
    const session = await create(service, 'Say hello')
    runId = session.activeRunId ?? ''
    sessionId = session.id
    const question = await until('a question', async () => {
      const path = `/v1/sessions/${session.id}/interactions`
      const { body } = await service.test.api.get<{ interactions: Interaction[] }>(path)
      return body.interactions.find(({ status }) => status === 'open')
    })
    await service.test.api.put(`/v1/sessions/${session.id}/turns/${randomUUID()}`, {
      message: 'yes',
      replyTo: { interactionId: question.id },
    })
    expect(outcomeOf(await endedRun(service.test.api, session, runId))).toMatch(/^completed/)
    await until('the seal', async () => (await service.test.api.session(session.id)).phase === 'idle')
    metrics = await (await fetch(`http://127.0.0.1:${service.test.service.metricsPort}/metrics`)).text()
  } finally {
    await service[Symbol.asyncDispose]()
  }
  expect([...collector.paths]).toEqual(['/v1/traces'])
  expect([...collector.authorizations]).toEqual(['Bearer of-the-collector'])
  const trace = collector.spans.filter(({ traceId }) => traceId === runId.replaceAll('-', ''))
  expect(namesOf(trace)).toEqual([
    'admit',
    'attach',
    'chat main/m1',
    'create sandbox',
    'execute_tool ask_user',
    'execute_tool bash',
    'find tree',
    'invoke_agent native',
    'prompt',
    'provision',
    'queue',
    'restore',
    'seal',
    'start agent',
    'wait for people',
  ])
  const [turn, ...more] = trace.filter(({ parentSpanId }) => parentSpanId === '')
  expect(more).toEqual([])
  expect(turn).toMatchObject({
    name: 'invoke_agent native',
    failed: false,
    attributes: {
      ...sumOf(trace.filter(({ name }) => name.startsWith('chat '))),
      'gen_ai.operation.name': 'invoke_agent',
      'gen_ai.conversation.id': sessionId,
      'berth.run.id': runId,
      'berth.run.status': 'completed',
      'gen_ai.request.model': 'main/m1',
    },
    resource: { 'service.name': 'berth', 'berth.roles': 'api,gateway,worker' },
  })
  const chats = trace.filter(({ name }) => name === 'chat main/m1')
  expect(chats).toHaveLength(3)
  for (const { attributes } of chats) {
    expect(attributes).toMatchObject({ 'gen_ai.operation.name': 'chat', 'gen_ai.conversation.id': sessionId })
    expect(Number(attributes['gen_ai.usage.input_tokens'])).toBeGreaterThan(0)
  }
  const ids = new Set(trace.map(({ spanId }) => spanId))
  for (const { name, parentSpanId, beganMs, endedMs } of trace) {
    expect.soft(parentSpanId === '' || ids.has(parentSpanId), name).toBe(true)
    expect.soft(endedMs, name).toBeGreaterThanOrEqual(beganMs)
  }
  const provision = trace.find(({ name }) => name === 'provision')
  expect(trace.find(({ name }) => name === 'create sandbox')?.parentSpanId).toBe(provision?.spanId)
  const request = collector.spans.find(({ name }) => name === 'PUT /v1/sessions/:sessionId')
  expect(request).toMatchObject({ traceId: caller.traceId, parentSpanId: caller.spanId })
  const admitted = trace.filter(({ name }) => name === 'admit')
  expect(admitted[0]?.links).toEqual([{ traceId: caller.traceId, spanId: request?.spanId }])
  expect(JSON.stringify(collector.spans)).not.toContain('secret-argument')
  expect(metrics).toMatch(/berth_runs_ended_total\{status="completed",error_code="none"\} \d/)
  expect(metrics).toMatch(/berth_step_seconds_count\{step="provision",outcome="ok"\} \d/)
  expect(metrics).toMatch(/berth_http_request_seconds_count\{method="PUT",route="[^"]+",status="201"\} \d/)
  expect(metrics).toMatch(/berth_database_connections\{state="idle"\} \d/)
  expect(metrics).toMatch(/berth_worker_hands\{state="busy"\} [01]\n/)
  expect(metrics).toMatch(/berth_worker_hands\{state="free"\} [78]\n/)
})

// Only root shows trees in sandboxes.
test.runIf(process.getuid?.() === 0)('a sandbox that stands ready takes its checkout within the trace', async () => {
  await using collector = await Collector.start()
  const service = await start(collector, { BERTH_POOL_LEAST: '1', BERTH_POOL_MOST: '1' })
  let runId = ''
  try {
    const { test } = service
    const { grantId, repository } = await localRepository(test, 'o/traced')
    const source = { grantId, repositoryId: repository.repositoryId }
    runId = await until('a session in a sandbox that stood ready', async () => {
      service.upstream.next(says({ text: 'Done.' }))
      const session = await test.api.createSession({ source }, 'Say done')
      const id = session.activeRunId ?? ''
      expect(outcomeOf(await endedRun(test.api, session, id))).toMatch(/^completed/)
      await until('the seal', async () => (await test.api.session(session.id)).phase === 'idle')
      // The name that its processes had before.
      const mark = join(test.dataDir, 'leases', await leaseOf(test.db.database, session), 'host', hostNames.mark)
      return existsSync(mark) ? id : undefined
    })
  } finally {
    await service[Symbol.asyncDispose]()
  }
  const trace = collector.spans.filter(({ traceId }) => traceId === runId.replaceAll('-', ''))
  const provision = trace.find(({ name }) => name === 'provision')
  const parts = trace.filter(({ parentSpanId }) => parentSpanId === provision?.spanId)
  expect(namesOf(parts)).toEqual(['create sandbox', 'find checkout', 'place source', 'restore'])
  for (const name of ['queue', 'attach', 'start agent', 'prompt', 'chat main/m1', 'seal'])
    expect.soft(namesOf(trace)).toContain(name)
  expect(trace.filter(({ failed }) => failed)).toEqual([])
})

test('a collector that refuses, or is not there, costs a Turn nothing; a ratio of 0 sends nothing', async () => {
  // A service that has stopped may still try to reach the one that refuses, so each case has its own.
  await using refusing = await Collector.start()
  refusing.status = 503
  await using unasked = await Collector.start()
  for (const [collector, more] of [
    [refusing, {}],
    // Nobody listens there.
    [unasked, { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9' }],
    [unasked, { OTEL_TRACES_SAMPLER_ARG: '0' }],
  ] as const) {
    await using service = await start(collector, more)
    const session = await service.test.api.createSession({ runtime: 'shell' }, 'echo hello')
    expect(outcomeOf(await endedRun(service.test.api, session, session.activeRunId ?? ''))).toMatch(/^completed/)
  }
  expect([...refusing.paths]).toEqual(['/v1/traces'])
  expect([...unasked.paths]).toEqual([])
})

test('a Turn stays one trace when its worker is killed and another process takes it over', async () => {
  await using stack = new AsyncDisposableStack()
  const collector = stack.use(await Collector.start())
  const dataDir = await runDirectory('traces')
  stack.defer(() => rm(dataDir, { recursive: true, force: true }))
  stack.defer(() => destroySandboxes(dataDir))
  const variables = {
    BERTH_DATA_DIR: dataDir,
    ...shortFence,
    BERTH_SANDBOX_MEMORY_BYTES: String(512 * 1024 ** 2),
    BERTH_SANDBOX_DISK_BYTES: String(256 * 1024 ** 2),
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
  }
  const first = stack.use(await startServiceProcess(variables))
  const { apiKey }: { apiKey: string } = JSON.parse(await readFile(join(dataDir, 'dev.json'), 'utf8'))
  const script = 'echo before; while [ ! -e go ]; do sleep 0.02; done; echo after'
  const { id, activeRunId } = await new Api(first.url, apiKey).createSession({ runtime: 'shell' }, script)
  const runId = activeRunId ?? ''
  const trace = () => collector.spans.filter(({ traceId }) => traceId === runId.replaceAll('-', ''))
  await until('spans of the first process', () => trace().some(({ name }) => name === 'start agent'))
  await first.kill('SIGKILL')
  const second = await startServiceProcess(variables)
  try {
    const api = new Api(second.url, apiKey)
    await using db = openDatabase({ connection: embeddedConnection(dataDir), log: silentLog })
    const session = await api.session(id)
    await touch(db, dataDir, session, 'go')
    expect(outcomeOf(await endedRun(api, session, runId))).toBe('completed completed - 1')
    await until('the seal', async () => (await api.session(id)).phase === 'idle')
  } finally {
    // A stop sends the spans that are left.
    await second.kill('SIGTERM')
  }
  const roots = trace().filter(({ parentSpanId }) => parentSpanId === '')
  expect(roots).toMatchObject([
    { name: 'invoke_agent shell', attributes: { 'berth.run.id': runId, 'berth.run.attempts': '1' } },
  ])
  expect(trace().filter(({ name }) => name === 'prompt')).toMatchObject([{ attributes: { 'berth.taken_over': true } }])
  const instanceOf = (name: string) => trace().find(span => span.name === name)?.resource['service.instance.id']
  expect(instanceOf('invoke_agent shell')).toMatch(new RegExp(`/${second.pid}$`))
  expect(instanceOf('start agent')).toMatch(new RegExp(`/${first.pid}$`))
  const ids = new Set(trace().map(({ spanId }) => spanId))
  expect(trace().filter(({ parentSpanId }) => parentSpanId !== '' && !ids.has(parentSpanId))).toEqual([])
})
