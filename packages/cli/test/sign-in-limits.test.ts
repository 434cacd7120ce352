import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { defaultPlatform } from '@berth/client'
import { ManualClock } from '@berth/client/testing/clock'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { AccountService } from '../src/sign-in/account-service.ts'
import { browserSignIn } from '../src/sign-in/browser-sign-in.ts'
import { deviceSignIn } from '../src/sign-in/device-sign-in.ts'

/** Answers of the token endpoint, in turn: an OAuth error, a broken connection, or tokens. */
type Answer = 'authorization_pending' | 'slow_down' | 'expired_token' | 'invalid_client' | 'broken' | 'tokens'

let answers: Answer[]
let issuer: string
let clock: ManualClock
const server = createServer((request, response) => {
  const send = (status: number, body: object) =>
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
  if (request.url?.endsWith('openid-configuration')) {
    const endpoint = (name: string) => `${issuer}/${name}`
    return send(200, {
      issuer,
      authorization_endpoint: endpoint('auth'),
      token_endpoint: endpoint('token'),
      device_authorization_endpoint: endpoint('device'),
    })
  }
  if (request.url === '/device') {
    const codes = { device_code: 'd', user_code: 'BBBB-CCCC', verification_uri: endpointOfPeople() }
    return send(200, { ...codes, expires_in: 60, interval: 2 })
  }
  const answer = answers.shift() ?? 'authorization_pending'
  if (answer === 'broken') return request.socket.destroy()
  if (answer !== 'tokens') return send(400, { error: answer })
  return send(200, { access_token: 'a', refresh_token: 'r', token_type: 'bearer', expires_in: 600 })
})
const endpointOfPeople = () => `${issuer}/people`

beforeEach(async () => {
  clock = new ManualClock()
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})
afterEach(async () => {
  server.closeAllConnections()
  server.close()
  await once(server, 'close')
})

const platform = () => ({ ...defaultPlatform, now: clock.now, sleep: clock.sleep, random: clock.random })
const open = async (signal = new AbortController().signal) => ({
  service: await AccountService.find(issuer, platform()),
  organization: undefined,
  platform: platform(),
  signal,
})

/** Begins the sign-in of a device and moves the clock to each of these times, at which it must ask. */
async function poll(script: Answer[], ...seconds: number[]) {
  answers = script
  const signedIn = deviceSignIn({ ...(await open()), show: async () => {} })
  signedIn.catch(() => {})
  for (const at of seconds) {
    await clock.sleeperUntil(at * 1000)
    clock.advance(at * 1000 - clock.now())
  }
  return signedIn
}

test('a device asks at the interval of the service, and more slowly when told to or when a connection broke', async () => {
  const script: Answer[] = ['authorization_pending', 'slow_down', 'broken', 'authorization_pending', 'tokens']
  expect(await poll(script, 2, 4, 11, 25, 39)).toEqual({ access: 'a', refresh: 'r', expiresAt: 39_000 + 600_000 })
})

test.each<[string, Answer[], number[], RegExp]>([
  ['when the service says that the code expired', ['expired_token'], [2], /the code has expired/],
  [
    'when the time of the code is over',
    ['slow_down', 'slow_down', 'slow_down', 'slow_down'],
    [2, 9, 21, 38, 60],
    /the code has expired/,
  ],
  ['when the service refuses the client', ['invalid_client'], [2], /invalid_client/],
])('a device stops asking %s', async (_, script, times, message) => {
  await expect(poll(script, ...times)).rejects.toThrow(message)
  expect(answers).toEqual([])
})

test('a sign-in in a browser ends after 15 minutes, and its listener with it', async () => {
  const shown = Promise.withResolvers<string>()
  const signedIn = browserSignIn({ ...(await open()), show: async address => shown.resolve(address) })
  signedIn.catch(() => {})
  const callback = new URL(await shown.promise).searchParams.get('redirect_uri') ?? ''
  await clock.sleeperUntil(15 * 60_000)
  expect((await fetch(callback)).status).toBe(400)
  clock.advance(15 * 60_000)
  await expect(signedIn).rejects.toThrow(/nobody signed in within 15 minutes/)
  await expect(fetch(callback)).rejects.toThrow()
})

test('a sign-in in a browser that is given up closes its listener', async () => {
  const leave = new AbortController()
  const shown = Promise.withResolvers<string>()
  const signedIn = browserSignIn({ ...(await open(leave.signal)), show: async address => shown.resolve(address) })
  signedIn.catch(() => {})
  const callback = new URL(await shown.promise).searchParams.get('redirect_uri') ?? ''
  leave.abort()
  await expect(signedIn).rejects.toThrow()
  await expect(fetch(callback)).rejects.toThrow()
})
