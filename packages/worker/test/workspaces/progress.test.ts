import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import type { Session } from '@berth/contract'
import type { Blobs } from '@berth/platform/storage/blobs/blobs.ts'
import { uploadTo } from '@berth/testing/environments/archives.ts'
import { Environments } from '@berth/testing/environments/environments.ts'
import { extensionOf, sha256Of } from '@berth/testing/environments/zip.ts'
import { openStream } from '@berth/testing/events/stream.ts'
import { until } from '@berth/testing/until.ts'
import { brokenDriver, Gate, Resuming } from '@berth/testing/workspaces/resuming.ts'
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest'

let bench: Resuming
let stack: AsyncDisposableStack
beforeAll(async () => {
  bench = await Resuming.open()
})
afterAll(() => bench[Symbol.asyncDispose]())
beforeEach(() => {
  stack = new AsyncDisposableStack()
})
afterEach(() => stack.disposeAsync())

const steps = async (session: Session, step: string) =>
  (await bench.api.events(session.id)).filter(
    ({ type, data }) => type === 'svc.workspace.progress' && data['step'] === step,
  )

/** Every operation that the gate holds counts as long. */
const held = new Gate()
const holding = brokenDriver(real => ({
  create: async spec => {
    await held.pass()
    await real.create(spec)
  },
  run: async (lease, program) => {
    if (program.kind === 'tree' && program.access === 'write') await held.pass()
    return real.run(lease, program)
  },
}))

it('a step before the agent begins that takes long is told while it goes on and when it has ended, once each', async () => {
  // bound: the step is held until it was told of
  await bench.work(stack, { driver: holding, limits: { reportStepMs: 1 } })
  held.shut()
  const session = await bench.api.createSession({ runtime: 'shell' }, 'echo done > file')
  const [begun] = await until('the beginning', async () => {
    const events = await steps(session, 'create_sandbox')
    return events.length > 0 && events
  })
  expect(begun).toMatchObject({
    subject: { sessionId: session.id, runId: session.activeRunId },
    data: { step: 'create_sandbox', title: 'Creating the sandbox', status: 'started' },
  })
  expect(begun?.data).not.toHaveProperty('durationMs')
  held.open()
  await bench.settled(session)
  const both = await steps(session, 'create_sandbox')
  expect(both.map(({ data }) => data['status'])).toEqual(['started', 'succeeded'])
  expect(both[1]?.data).toMatchObject({ stepId: begun?.data['stepId'], durationMs: expect.any(Number) })
  expect(await steps(session, 'restore')).toEqual([])
  const ofStart = (await steps(session, 'start_agent')).map(({ data }) => data['status'])
  expect(ofStart).toEqual(['started', 'succeeded'])

  await bench.expire(session)
  held.shut()
  const { run } = await bench.api.submitTurn(session.id, 'cat file')
  await until('the sandbox', async () => held.waiting > 0)
  held.open()
  held.shut()
  await until('the restore', async () => (await steps(session, 'restore')).length > 0)
  held.open()
  expect((await bench.settled(session, run.id)).run.status).toBe('completed')
  expect((await steps(session, 'restore')).map(({ data }) => data)).toMatchObject([
    { title: 'Restoring the workspace', status: 'started' },
    { title: 'Restoring the workspace', status: 'succeeded', durationMs: expect.any(Number) },
  ])
})

it('a long step that fails is told to have failed, and the run ends as ever', async () => {
  const failing = brokenDriver(() => ({
    create: async () => {
      await held.pass()
      throw new Error('no room')
    },
  }))
  // bound: the step is held until it was told of
  await bench.work(stack, { driver: failing, limits: { reportStepMs: 1, maxAttempts: 1 } })
  held.shut()
  const session = await bench.api.createSession({ runtime: 'shell' }, 'true')
  await until('the beginning', async () => (await steps(session, 'create_sandbox')).length > 0)
  held.open()
  expect((await bench.ended(session)).run.status).toBe('crashed')
  expect((await steps(session, 'create_sandbox')).map(({ data }) => data['status'])).toEqual(['started', 'failed'])
  expect((await bench.api.events(session.id)).at(-1)?.type).toBe('svc.run.crashed')
})

it('extensions that a sandbox waits for are told, and how much of them has come', async () => {
  const reads = new Gate()
  const blobs = (real: Blobs): Blobs => ({
    put: content => real.put(content),
    has: (sha256, sizeBytes) => real.has(sha256, sizeBytes),
    stat: sha256 => real.stat(sha256),
    delete: sha256 => real.delete(sha256),
    get: async sha256 => {
      const content = await buffer(await real.get(sha256))
      return Readable.from(
        (async function* () {
          yield content.subarray(0, 10)
          await reads.pass()
          yield content.subarray(10)
        })(),
      )
    },
  })
  // bound: the step is held until it was told of
  await bench.work(stack, { blobs, limits: { reportStepMs: 1 } })
  const content = extensionOf({}, [{ name: 'bin/run', content: 'x' }])
  const archive = sha256Of(content)
  const environments = new Environments(bench.api)
  const { id, document } = await environments.make()
  expect((await uploadTo(bench.api, id, archive, content)).status).toBe(201)
  const extensions = [{ archive: `sha256:${archive}` }]
  expect((await environments.put(id, { ...document, extensions }, 1)).status).toBe(200)
  reads.shut()
  const session = await bench.api.createSession({ runtime: 'shell', environment: { id } }, 'true')
  const path = `${bench.test.url}/v1/sessions/${session.id}/previews`
  await using stream = await openStream(path, { authorization: `Bearer ${bench.api.key}` })
  const next = async () => JSON.parse((await stream.take(1))[0]?.data ?? 'null')
  let shown = await next()
  while (shown.steps === undefined) shown = await next()
  const [begun] = await steps(session, 'unpack_extensions')
  const progress = { unit: 'bytes', done: 10, total: content.length }
  const title = "Unpacking the environment's extensions"
  expect(shown).toEqual({ activities: [], steps: [{ stepId: begun?.data['stepId'], title, progress }] })
  reads.open()
  await bench.settled(session)
  expect((await steps(session, 'unpack_extensions')).map(({ data }) => data)).toMatchObject([
    { title: "Unpacking the environment's extensions", status: 'started' },
    { status: 'succeeded', durationMs: expect.any(Number) },
  ])
})

it('quick steps are not told', async () => {
  await bench.work(stack)
  const { session } = await bench.sealed('shell', 'true')
  await bench.expire(session)
  await bench.next(session, 'true')
  expect((await bench.api.events(session.id)).map(({ type }) => type)).not.toContain('svc.workspace.progress')
})
