import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { promisify } from 'node:util'
import type { Event, Session } from '@berth/contract'
import { openNetwork } from '@berth/platform/network/dial.ts'
import { says } from '@berth/testing/models/scripted-upstream.ts'
import { startGatewayService } from '@berth/testing/services/gateway-service.ts'
import { startTestService, type TestService } from '@berth/testing/services/service.ts'
import { workerContext } from '@berth/testing/services/worker-context.ts'
import { until } from '@berth/testing/until.ts'
import { touch, workspacePath } from '@berth/testing/workspaces/workspace.ts'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { isRunOnLease } from '../../src/claim/hold-sql.ts'
import { Worker } from '../../src/worker.ts'

let service: TestService
let gateway: Server
let url: string
/** Requests to the gateway, as `<path> <credential>`. */
let targets: string[]
let minted: string[]
/** Is awaited before a Run gets its credential. */
let beforeMint: Promise<void>
/** Hears each request of a sandbox that has no credential yet. */
let requestedEarly: () => void
let stack: AsyncDisposableStack

const frames = Array.from({ length: 50 }, (_, index) => `data: {"n":${index}}\n\n`)

beforeAll(async () => {
  service = await startTestService({ variables: { BERTH_ROLES: 'api' } })
  gateway = createServer(async (incoming, response) => {
    targets.push(`${incoming.url} ${incoming.headers.authorization?.replace('Bearer ', '')}`)
    if (incoming.url === '/v1/models') return response.end('{"data":[]}')
    response.writeHead(200, { 'Content-Type': 'text/event-stream' })
    for (const frame of frames) {
      response.write(frame)
      await new Promise(setImmediate)
    }
    response.end('data: [DONE]\n\n')
  }).listen(0, '127.0.0.1')
  await once(gateway, 'listening')
  url = `http://127.0.0.1:${(gateway.address() as AddressInfo).port}`
})
afterAll(async () => {
  gateway.close().closeAllConnections()
  await service[Symbol.asyncDispose]()
})
beforeEach(() => {
  stack = new AsyncDisposableStack()
  targets = []
  minted = []
  beforeMint = Promise.resolve()
  requestedEarly = () => {}
})
afterEach(() => stack.disposeAsync())

async function startWorker(options: Parameters<typeof workerContext>[2] = {}): Promise<Worker> {
  const mint = async () => {
    await beforeMint
    const credential = `svc_run_${randomBytes(32).toString('base64url')}`
    minted.push(credential)
    return credential
  }
  const expects = async (leaseId: string) => {
    const isExpected = await isRunOnLease(service.db.database, leaseId)
    requestedEarly()
    return isExpected
  }
  const context = await workerContext(service, stack, { ...options, gateway: { url: () => url, mint, expects } })
  const worker = stack.use(new Worker(context))
  await worker.start()
  return worker
}

const start = (script: string) => service.api.createSession({ runtime: 'shell' }, script)
const outputOf = (events: readonly Event[]) => {
  const last = events.findLast(event => event.type === 'svc.activity.completed')
  return String((last?.data as { output?: string } | undefined)?.output)
}
const ended = async (session: Session, runId = session.activeRunId ?? '') =>
  outputOf(await service.api.runEnded(session.id, runId))

const base = 'http://127.0.0.1:3128/v1'
const models = `curl -sS -m 20 ${base}/models`

test("an agent reaches the gateway with its Run's credential, which is nowhere in the sandbox", async () => {
  await startWorker()
  // The pattern does not match its own text in the script.
  const search = `grep -rqsE "svc_run[_]" /workspace /home /tmp /run /etc /dev/shm /proc/[0-9]*/environ /proc/[0-9]*/cmdline`
  const session = await start(`
    ${models} ${base}/models; echo
    curl -sSN -m 20 -H "authorization: Bearer berth" -d '{"stream":true}' ${base}/chat/completions
    env | grep -c svc_run; ${search} && echo found || echo nowhere`)
  expect(await ended(session)).toBe(`{"data":[]}{"data":[]}\n${frames.join('')}data: [DONE]\n\n0\nnowhere\n`)
  const credential = minted[0] ?? ''
  expect(minted).toEqual([expect.stringMatching(/^svc_run_[\w-]{43}$/)])
  const paths = ['/v1/models', '/v1/models', '/v1/chat/completions']
  expect(targets).toEqual(paths.map(path => `${path} ${credential}`))
  // Nor in the files that the host keeps of the sandbox: journal, log, record.
  const kept = promisify(execFile)('grep', ['-rqsF', '--devices=skip', credential, service.dataDir])
  await expect(kept).rejects.toMatchObject({ code: 1 })
})

test('a process that a Run leaves in the sandbox reaches the gateway only in the next Run, and as that Run', async () => {
  await startWorker()
  const session = await start(`
    ${models} -o first
    setsid bash -c 'until [ -e go ]; do sleep 0.1; done; ${models} -o second.part; mv second.part second' >/dev/null 2>&1 &`)
  await ended(session)
  await until('a sealed run', async () => (await service.api.session(session.id)).phase === 'idle')
  await touch(service.db.database, service.dataDir, session, 'go')
  // The sandbox runs again before the next Run has its credential.
  const early = Promise.withResolvers<void>()
  beforeMint = early.promise
  requestedEarly = early.resolve
  const { run } = await service.api.submitTurn(session.id, `until [ -e second ]; do sleep 0.1; done; ${models}`)
  expect(await ended(session, run.id)).toBe('{"data":[]}')
  const second = await workspacePath(service.db.database, service.dataDir, session, 'second')
  expect(await readFile(second, 'utf8')).toBe('{"data":[]}')
  expect(targets).toEqual([minted[0], minted[1], minted[1]].map(credential => `/v1/models ${credential}`))
})

test('a worker that takes over brings its own credential', async () => {
  const first = await startWorker()
  const session = await start(`${models}; touch begun; until [ -e go ]; do sleep 0.1; done; ${models}`)
  await until('the first call', () => targets.length === 1)
  await first[Symbol.asyncDispose]()
  await startWorker()
  await until('the second worker', () => minted.length === 2)
  await touch(service.db.database, service.dataDir, session, 'go')
  expect(await ended(session)).toBe('{"data":[]}{"data":[]}')
  expect(targets).toEqual(minted.map(credential => `/v1/models ${credential}`))
})

test('sandboxes reach exactly the open public hosts, by name', async () => {
  const dialled: string[] = []
  const network = {
    lookUp: (name: string) => Promise.reject(new Error(`looked up ${name}`)),
    resolve: async (name: string) => (name === 'wild.example.com' ? ['127.0.0.1'] : ['93.184.216.34']),
    // In this test, the gateway's stand-in is the public network.
    dial: (address: string, port: number, signal: AbortSignal) => {
      dialled.push(`${address}:${port}`)
      return openNetwork().dial('127.0.0.1', Number(new URL(url).port), signal)
    },
  }
  await startWorker({ network, publicHosts: { ports: [80, 443], refused: [] } })
  const hosts = ['example.com/v1/models', 'wild.example.com', '10.0.0.1', 'metadata.google.internal', 'example.com:25']
  const session = await start(`
    for host in ${hosts.join(' ')}; do curl -sS -m 20 -o answer -w '%{http_code} ' http://$host; done
    curl -sS -m 20 -p -w '%{http_connect} %{http_code}' http://example.com:443/v1/models`)
  expect(await ended(session)).toBe('200 403 403 403 403 {"data":[]}200 200')
  expect(dialled).toEqual(['93.184.216.34:80', '93.184.216.34:443'])
})

test("the service's own gateway answers an agent and books the request on its Run", async () => {
  await using own = await startGatewayService({ variables: { BERTH_ROLES: 'api,gateway,worker' } })
  own.upstream.next(says({ text: 'from the model' }))
  const { api } = own.test
  const body = JSON.stringify({ model: 'fast', stream: true, messages: [{ role: 'user', content: 'a' }] })
  const session = await api.createSession(
    { runtime: 'shell' },
    `curl -sS -m 20 ${base}/models; curl -sSN -m 20 -H 'content-type: application/json' -d '${body}' ${base}/chat/completions`,
  )
  const output = outputOf(await api.runEnded(session.id, session.activeRunId ?? ''))
  expect(output).toMatch(/"id":"main\/m1".*from th.*e model.*data: \[DONE\]/s)
  expect(await own.requests()).toMatchObject([{ run_id: session.activeRunId }])
})
