import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sendJson } from '@berth/client/testing'
import { afterAll, expect, test } from 'vitest'
import { judge } from '../src/doctor/certificate.ts'
import { clockFinding, versionFinding } from '../src/doctor/service.ts'
import { BerthProcess } from './berth-process.ts'
import { ScriptedService } from './scripted-service.ts'

const cwd = mkdtempSync(join(tmpdir(), 'berth-cli-'))
afterAll(() => rmSync(cwd, { recursive: true }))

/** No worker: sandboxes are tried by the tests of the service. */
const settings = { BERTH_ROLES: 'api,account,gateway', BERTH_PORT: '0' }
const doctor = (env: Readonly<Record<string, string>>, ...args: string[]) =>
  new BerthProcess(['doctor', ...args], { cwd, env: { ...settings, ...env } })

const ready = (refuses: boolean) =>
  ScriptedService.start(({ path }, response) => {
    if (path === '/readyz') sendJson(response, 200, { status: 'ok' })
    else if (path === '/v1/openapi.json') sendJson(response, 200, { info: { version: '1.2.3' } })
    else if (refuses) sendJson(response, 401, { error: 'invalid_or_expired_credential' })
    else sendJson(response, 200, { limits: {}, capabilities: ['a', 'b'] })
    return 'answered'
  })

test('doctor prints a finding a line, and succeeds with warnings alone', async () => {
  const it = doctor({})
  expect(await it.ended()).toBe(0)
  expect(it.lines[0]).toMatch(/^ok\tnode\tNode \d+/)
  expect(it.lines.at(-1)).toBe('warning\tservice\tnone runs here yet\tscript/server')
})

test('doctor finds the service, its version and its clock, and says that it takes the key', async () => {
  await using service = await ready(false)
  const it = doctor(service.env, '--json')
  expect(await it.ended()).toBe(0)
  const found = it.lines.map(line => JSON.parse(line))
  expect(found).toContainEqual(
    expect.objectContaining({ check: 'service', state: 'ok', detail: expect.stringContaining('1.2.3') }),
  )
  expect(found).toContainEqual(expect.objectContaining({ check: 'clock', state: 'ok' }))
  expect(found).toContainEqual(expect.objectContaining({ check: 'key', state: 'ok', next: null }))
})

test('doctor fails with exit code 1 for a wrong key, which it does not print, and colours its words in a terminal', async () => {
  const secret = 'svc_cloud_live_abcdefghijklmnop'
  await using service = await ready(true)
  const it = new BerthProcess(['doctor'], {
    cwd,
    env: { ...settings, ...service.env, BERTH_API_KEY: secret, TERM: 'xterm' },
    terminal: true,
  })
  expect(await it.ended()).toBe(1)
  expect(it.stdout).toContain('\u001b[31mfailure\u001b[39m  key ')
  expect(it.stdout).toContain('refuses this key')
  expect(it.stdout).toContain('1 failure')
  expect(it.stdout).not.toContain(secret)
})

test('doctor fails if a service that was named does not answer, and only warns if the local one has stopped', async () => {
  const closed = 'http://127.0.0.1:1'
  const named = doctor({ BERTH_URL: closed, BERTH_API_KEY: 'key' })
  expect(await named.ended()).toBe(1)
  expect(named.stdout).toContain(`failure\tservice\tnothing answers at ${closed}`)
  mkdirSync(join(cwd, '.berth'))
  writeFileSync(join(cwd, '.berth/dev.json'), JSON.stringify({ baseUrl: closed, apiKey: 'key' }))
  const stopped = doctor({})
  expect(await stopped.ended()).toBe(0)
  expect(stopped.lines.at(-1)).toBe(`warning\tservice\tthe one at ${closed} is not running\tscript/server`)
})

const now = Date.parse('2026-01-01T00:00:00Z')

test.each([
  ['Thu, 01 Jan 2026 00:00:02 GMT', 'ok', /within seconds/],
  ['Thu, 01 Jan 2026 00:00:30 GMT', 'warning', /^31 s behind the service's$|^30 s behind/],
  ['Wed, 31 Dec 2025 23:50:00 GMT', 'failure', /^600 s ahead of the service's$/],
])('a service at %s makes the clock a finding that is %s', (date, state, detail) => {
  expect(clockFinding(date, now)).toMatchObject({ state, detail: expect.stringMatching(detail) })
})

test.each([
  [null, 'Jun  1 00:00:00 2026 GMT', 'ok'],
  [null, 'Jan  5 00:00:00 2026 GMT', 'warning'],
  ['CERT_HAS_EXPIRED', 'Dec  1 00:00:00 2025 GMT', 'failure'],
  ['SELF_SIGNED_CERT_IN_CHAIN', 'Jun  1 00:00:00 2026 GMT', 'failure'],
])('a certificate with the fault %s that ends on %s is %s', (distrust, end, state) => {
  expect(judge('berth.example.com', distrust, end, now)).toMatchObject({ state })
})

test('a service of another major version is a warning', () => {
  expect(versionFinding('http://x', '1.9.0', '1.0.0')).toMatchObject({ state: 'ok' })
  expect(versionFinding('http://x', '2.0.0', '1.0.0')).toMatchObject({
    state: 'warning',
    next: expect.stringContaining('@2'),
  })
})
