import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { connect, createServer, type Socket } from 'node:net'
import { afterEach, beforeEach, expect, it } from 'vitest'
import type { SandboxDriver } from '../driver.ts'
import { Line } from '../line/line.ts'
import { HostAwayError } from '../line/line-error.ts'
import { type CallHandlers, serveLine } from '../line/serve-line.ts'
import { createRemoteDriver } from './create-driver.ts'
import { RemoteHost } from './remote-host.ts'
import { driverErrors } from './wire.ts'

const leaseId = crypto.randomUUID()
const stack = new Set<() => void>()
let driver: SandboxDriver
let line: Line
const requests: string[] = []
let hangs = ''

/** A host that accepts one call and never answers it. */
const calls: CallHandlers = Object.fromEntries(
  Object.entries({
    facts: { boot: 'one', describes: [], runtimes: [] },
    run: { id: 'a-program' },
    ...{ attach: null, programBytes: null, writeInputs: null, destroy: null, stateOf: 'running' },
    ...{ missingContents: [], heldCommits: [], takePack: null, create: null },
  }).map(([name, answer]) => [
    name,
    async () => {
      requests.push(name)
      return name === hangs ? await new Promise<never>(() => undefined) : answer
    },
  ]),
)

beforeEach(async () => {
  requests.length = 0
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const accepted = once(server, 'connection') as Promise<[Socket]>
  const far = connect((server.address() as AddressInfo).port, '127.0.0.1')
  await once(far, 'connect')
  const [near] = await accepted
  serveLine(far, calls)
  // bound: nobody comes back
  const host = new RemoteHost({ awayMs: 100, log: { warn: () => undefined } })
  line = new Line(near, { errors: driverErrors, answer: host.answer })
  await host.take(line, async () => undefined)
  const packs = { commits: async () => ['0'.repeat(40)], write: async (): Promise<void> => undefined }
  driver = createRemoteDriver(host, packs, { shortMs: 2_000, quietMs: 2_000, createMs: 2_000, packMs: 2_000 })
  stack.add(() => {
    far.destroy()
    near.destroy()
    server.close()
  })
})
afterEach(() => {
  for (const end of stack) end()
  stack.clear()
})

const reach = new AbortController().signal
const bounds = { memoryBytes: 1, processes: 1, cpus: 1, diskBytes: 1, fileBytes: 1 } as never
const extensions = [{ id: 'one', content: 'a-content', directory: '/nowhere' }]
const spec = { leaseId, command: [], bounds, mounts: [], runtimeId: 'shell', egress: { reach: 'none' } } as const
const create = (more: object) => driver.create({ ...spec, ...more } as never)

it.each<readonly [name: string, work: () => Promise<unknown>]>([
  ['attach', () => driver.attach(leaseId, reach)],
  ['writeInputs', () => driver.writeInputs(leaseId, 1, [{ name: 'a', content: Buffer.alloc(1024) }])],
  ['run', () => driver.run(leaseId, { kind: 'tree' } as never)],
  ['programBytes', () => driver.run(leaseId, { kind: 'tree' } as never)],
  ['destroy', () => driver.destroy(leaseId)],
  ['stateOf', () => driver.stateOf(leaseId)],
  ['create', () => create({})],
  ['missingContents', () => create({ extensions })],
  ['heldCommits', () => create({ objects: 'a-mirror' })],
])('takes a host that accepts %s and never answers for one that is away, and ends its line', async (name, work) => {
  hangs = name
  await expect(work()).rejects.toBeInstanceOf(HostAwayError)
  expect(requests.at(-1)).toBe(name)
  await line.closed
})
