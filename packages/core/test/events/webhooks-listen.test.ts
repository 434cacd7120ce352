import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { verifyWebhook } from '@berth/client'
import { endedRun } from '@berth/testing/runs/ended-run.ts'
import { startTestService, type TestService } from '@berth/testing/services/service.ts'
import { until } from '@berth/testing/until.ts'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { spawn } from '../../../../script/testing/spawn.ts'

const berth = fileURLToPath(new URL('../../../cli/dist/berth.js', import.meta.url))

/** Starts `berth webhooks listen` with the tenant's key. */
function start(...args: readonly string[]) {
  const child = spawn(process.execPath, [berth, 'webhooks', 'listen', ...args], {
    cwd: service.dataDir,
    env: { PATH: process.env.PATH, BERTH_URL: service.url, BERTH_API_KEY: service.tenant.apiKey },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const closed = once(child, 'close')
  const command = {
    stdout: '',
    stderr: '',
    get lines() {
      return command.stdout.split('\n').slice(0, -1)
    },
    interrupt: () => child.kill('SIGINT'),
    ended: async () => (await closed)[0] as number | null,
  }
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    command.stdout += text
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    command.stderr += text
  })
  return command
}

interface Received {
  readonly headers: readonly string[]
  readonly signature: string | undefined
  readonly body: Buffer
}

let service: TestService
let receiver: Server
let url: string
const received: Received[] = []
/** Statuses of the next answers; 204 once they are spent. */
const statuses: number[] = []

beforeAll(async () => {
  service = await startTestService({ variables: { BERTH_ROLES: 'api,worker' } })
  receiver = createServer(async (request, response) => {
    const headers = request.rawHeaders.filter((_, index) => index % 2 === 0)
    const signature = request.headers['svc-signature']
    received.push({
      headers,
      signature: typeof signature === 'string' ? signature : undefined,
      body: await buffer(request),
    })
    response.writeHead(statuses.shift() ?? 204).end()
  })
  receiver.listen(0, '127.0.0.1')
  await once(receiver, 'listening')
  url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/hooks?a=1`
})
beforeEach(() => {
  received.length = 0
  statuses.length = 0
})
afterAll(async () => {
  receiver.closeAllConnections()
  receiver.close()
  await service[Symbol.asyncDispose]()
})

/** Starts the command, and waits until it forwards. */
async function listen(...args: readonly string[]) {
  const command = start('--forward-to', url, ...args)
  await until('a forwarding command', () => command.stderr.includes('berth: forwarding'))
  return { command, secret: /whsec_[\w-]{43}/.exec(command.stdout)?.[0] ?? '' }
}

const typesOf = (all: readonly Received[]) => all.map(({ body }) => JSON.parse(body.toString()).type)

/** Runs one Turn of a Session to its end. */
async function perform(session = undefined as string | undefined) {
  if (session === undefined) {
    const made = await service.api.createSession({ runtime: 'shell' }, 'echo Grüße 世界 🎉')
    await endedRun(service.api, made, made.activeRunId ?? '')
    return made
  }
  const { run } = await service.api.submitTurn(session, 'true')
  const made = await service.api.session(session)
  await endedRun(service.api, made, run.id)
  return made
}

test('a receiver verifies what is forwarded: the bytes of the page, from now on, each once, in order', async () => {
  const earlier = await perform()
  const { command, secret } = await listen('--families', 'run')
  const session = await perform()
  await until('two deliveries', () => received.length >= 2)
  await perform(earlier.id)
  await until('four deliveries', () => received.length >= 4)
  command.interrupt()
  expect(await command.ended()).toBe(0)
  const run = ['svc.run.started', 'svc.run.completed']
  expect(typesOf(received)).toEqual([...run, ...run])
  const raw = (id: string) =>
    fetch(`${service.url}/v1/sessions/${id}/events`, {
      headers: { authorization: `Bearer ${service.tenant.apiKey}` },
    }).then(response => response.text())
  const pages = (await Promise.all([session.id, earlier.id].map(raw))).join('')
  for (const { body, headers, signature } of received) {
    expect(pages).toContain(body.toString())
    expect(headers.toSorted()).toEqual(['Content-Length', 'Content-Type', 'Host', 'Svc-Signature'])
    expect(await verifyWebhook(body, signature, secret)).toMatchObject({ verified: true })
    expect(await verifyWebhook(body, signature, `${secret}a`)).toEqual({
      verified: false,
      reason: 'signature_mismatch',
    })
  }
  expect(command.lines.slice(1).map(line => line.replace(/^\S+ (.*) \d+ ms$/, '$1'))).toEqual(
    [session, earlier].flatMap(({ id }) => run.map(type => `${type} ${id} 204`)),
  )
  expect(command.stderr.split('\n')).toEqual([expect.stringMatching(/^berth: forwarding run to /), ''])
})

test('a delivery that is refused is signed anew and sent again, and the next one waits for it', async () => {
  const { command, secret } = await listen('--families', 'run', '--json')
  statuses.push(302, 500)
  await perform()
  await until('both events', () => received.length >= 4)
  command.interrupt()
  expect(await command.ended()).toBe(0)
  const started = 'svc.run.started'
  expect(typesOf(received)).toEqual([started, started, started, 'svc.run.completed'])
  expect(new Set(received.slice(0, 3).map(({ body }) => body.toString())).size).toBe(1)
  for (const { body, signature } of received) {
    expect((await verifyWebhook(body, signature, secret)).verified).toBe(true)
  }
  const printed = command.lines.slice(1).map(line => JSON.parse(line))
  expect(printed.map(({ type, status, attempt }) => [type, status, attempt])).toEqual([
    [started, 302, 1],
    [started, 500, 2],
    [started, 204, 3],
    ['svc.run.completed', 204, 1],
  ])
})

test('the command says what it cannot do', async () => {
  const fails = async (...args: readonly string[]) => {
    const command = start(...args)
    return [await command.ended(), command.stderr] as const
  }
  expect(await fails('--forward-to', 'ftp://localhost/')).toEqual([
    2,
    'berth: ftp://localhost/ is not an http or https URL\n',
  ])
  expect((await fails('--forward-to', url, '--families', 'run,run'))[0]).toBe(2)
  expect((await fails('--forward-to', url, '--families', 'all'))[0]).toBe(2)
  expect((await fails())[0]).toBe(2)
  const [code, printed] = await fails('--forward-to', url, '--key', 'svc_cloud_live_unknown')
  expect([code, printed]).toEqual([1, expect.stringContaining('invalid_or_expired_credential')])
})
