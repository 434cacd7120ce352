import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { until } from '@berth/testing/testing.ts'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { BerthProcess } from './berth-process.ts'
import { addressOf, Home, land, PeopleService } from './people-service.ts'
import { ScriptedService } from './scripted-service.ts'

let service: PeopleService
beforeAll(async () => {
  service = await PeopleService.start()
})
afterAll(() => service[Symbol.asyncDispose]())

test('a person signs in with a browser, commands act as them, and logout ends the sign-in', async () => {
  await using home = await Home.make()
  const person = await service.newPerson()
  const it = home.berth('login', '--url', service.url)
  const address = await addressOf(it)
  const { searchParams } = new URL(address)
  expect(Object.fromEntries(searchParams)).toMatchObject({
    code_challenge_method: 'S256',
    redirect_uri: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/callback$/),
    scope: 'openid offline_access',
  })
  const landed = await land(await service.signInOnPages(address, person))
  expect(landed.status).toBe(200)
  expect(landed.headers.get('content-security-policy')).toContain("default-src 'none'")
  expect(await landed.text()).toContain('Go back to your terminal')
  expect(await it.ended()).toBe(0)
  expect(it.stdout).toContain(`Signed in as Robin Marsh <${person.email}>`)

  const { current, names, tokens } = await kept(home)
  expect(names).toEqual([current])
  expect(await home.modes()).toMatchObject({
    '.': '700',
    profiles: '700',
    current: '600',
    [`profiles/${current}.json`]: '600',
  })
  const who = await home.run('whoami', '--json')
  expect(JSON.parse(who.stdout)).toMatchObject({
    user: { id: person.personId, email: person.email },
    organization: { id: person.organizationId },
    capabilities: expect.arrayContaining(['svc.cloud.sessions:create']),
    deployment: service.url,
    credential: { kind: 'profile', name: current },
  })
  const admitted = await home.run('run', '--runtime', 'shell', '--json', 'true')
  expect(admitted.code).toBe(0)
  const sessions = await home.run('sessions', '--json')
  expect(JSON.parse(sessions.stdout)).toMatchObject({
    id: JSON.parse(admitted.stdout).sessionId,
    createdBy: { id: person.personId },
  })

  const out = await home.run('logout')
  expect([out.code, out.stderr]).toEqual([0, ''])
  expect((await kept(home)).names).toEqual([])
  const refused = await fetch(`${service.url}/v1/me`, { headers: { authorization: `Bearer ${tokens.access}` } })
  expect(refused.status).toBe(401)
  const after = await home.run('whoami')
  expect([after.code, after.stderr]).toEqual([2, expect.stringContaining('sign in with `berth login')])
  for (const text of [it, who, admitted, sessions, out].flatMap(({ stdout, stderr }) => [stdout, stderr])) {
    for (const secret of [tokens.access, tokens.refresh]) expect(text).not.toContain(secret)
  }
})

test('in a terminal the browser of the machine opens with the address, and the answer is coloured', async () => {
  await using home = await Home.make()
  const person = await service.newPerson()
  const opener = join(home.path, 'opener')
  await writeFile(
    opener,
    '#!/bin/sh\nprintf %s "$1" > "$HOME/opened.part" && mv "$HOME/opened.part" "$HOME/opened"\n',
    { mode: 0o700 },
  )
  const env = { BROWSER: opener, TERM: 'xterm-256color' }
  const it = new BerthProcess(['login', '--url', service.url], { cwd: home.path, env, terminal: true })
  const address = await addressOf(it)
  await land(await service.signInOnPages(address, person))
  expect(await it.ended()).toBe(0)
  expect(it.stdout).toContain('in the browser that opens now')
  expect(it.stdout).toContain(`Signed in as \u001b[1mRobin Marsh\u001b[22m <${person.email}>`)
  const opened = () => readFile(join(home.path, 'opened'), 'utf8').catch(() => undefined)
  expect(await until('an opened browser', opened)).toBe(address)
})

test('a browser that cannot be opened keeps nobody from signing in', async () => {
  await using home = await Home.make()
  const env = { BROWSER: join(home.path, 'absent') }
  const it = new BerthProcess(['login', '--url', service.url], { cwd: home.path, env })
  await land(await service.signInOnPages(await addressOf(it), await service.newPerson()))
  expect(await it.ended()).toBe(0)
})

test('a person works on a repository that their organization is connected to', async () => {
  await using home = await Home.make()
  const person = await service.newPerson()
  await service.connectRepository('sample/greeter', person)
  await home.signIn(service, person)
  const missing = await home.run('run', '--runtime', 'shell', '--repository', 'sample/other', 'true')
  expect([missing.code, missing.stderr]).toEqual([2, expect.stringContaining('no repository sample/other')])
  const it = await home.run('run', '--runtime', 'shell', '--repository', 'sample/greeter', '--json', 'true')
  expect([it.code, it.stderr]).toEqual([0, ''])
  const { sessionId } = JSON.parse(it.stdout)
  const [session] = (await home.run('sessions', '--json')).stdout.split('\n').map(line => JSON.parse(line || 'null'))
  expect(session).toMatchObject({ id: sessionId, createdBy: { kind: 'app_installation' } })
})

test('a person who declines is not signed in, and the listener is gone', async () => {
  await using home = await Home.make()
  const it = home.berth('login', '--url', service.url)
  const address = await addressOf(it)
  const landed = await land(await service.signInOnPages(address, await service.newPerson()), 'cancel')
  expect(await landed.text()).toContain('Not signed in')
  expect(await it.ended()).toBe(1)
  expect(it.stderr).toContain('the request was declined')
  expect((await kept(home)).names).toEqual([])
  await expect(fetch(landed.url)).rejects.toThrow()
})

test('an answer with another state is refused and does not end the sign-in', async () => {
  await using home = await Home.make()
  const person = await service.newPerson()
  const it = home.berth('login', '--url', service.url)
  const address = await addressOf(it)
  const callback = new URL(new URL(address).searchParams.get('redirect_uri') ?? '')
  for (const query of ['?code=x&state=guess', '?code=x', '?error=access_denied&state=', '']) {
    const refused = await fetch(new URL(query, callback))
    expect([refused.status, await refused.text()]).toEqual([400, expect.stringContaining('not of your sign-in')])
  }
  expect((await fetch(new URL('/', callback))).status).toBe(404)
  await land(await service.signInOnPages(address, person))
  expect(await it.ended()).toBe(0)
})

test.each<[string, (url: URL) => void]>([
  ['of another issuer', url => url.searchParams.set('iss', 'https://evil.example/oidc')],
  ['without an issuer', url => url.searchParams.delete('iss')],
])('an answer %s is refused before its code is used', async (_, change) => {
  await using home = await Home.make()
  const it = home.berth('login', '--url', service.url)
  const pages = await service.signInOnPages(await addressOf(it), await service.newPerson())
  await land(pages, 'continue', change)
  expect(await it.ended()).toBe(1)
  expect(it.stderr).toMatch(/"iss"/)
  expect((await kept(home)).names).toEqual([])
})

test('an interrupt ends the wait and the listener', async () => {
  await using home = await Home.make()
  const it = home.berth('login', '--url', service.url)
  const callback = new URL(await addressOf(it)).searchParams.get('redirect_uri') ?? ''
  it.interrupt()
  expect(await it.ended()).toBe(130)
  expect(it.stderr).toBe('berth: the sign-in was cancelled\n')
  await expect(fetch(callback)).rejects.toThrow()
})

test('a service that names no account service, or none at all, is told apart', async () => {
  await using home = await Home.make()
  const nowhere = await home.run('login')
  expect([nowhere.code, nowhere.stderr]).toEqual([2, expect.stringContaining('name it with --url')])
  const stopped = await ScriptedService.start()
  const { url } = stopped
  await stopped[Symbol.asyncDispose]()
  const absent = await home.run('login', '--url', url)
  expect([absent.code, absent.stderr]).toEqual([1, expect.stringContaining(`nothing answers at ${url}`)])
  const other = await home.run('login', '--url', service.url, '--auth-url', `${service.url}/elsewhere`)
  expect([other.code, other.stderr]).toEqual([1, expect.stringContaining('did not answer as an account service')])
})

/** Reads what the user's home holds. */
async function kept(home: Home) {
  const listed = await home.run('switch', '--json')
  const rows: { name: string; current: boolean }[] = listed.stdout
    .split('\n')
    .slice(0, -1)
    .map(line => JSON.parse(line))
  const current = rows.find(row => row.current)?.name ?? ''
  const tokens: { access: string; refresh: string } = current === '' ? null : (await home.profile(current)).tokens
  return { current, names: rows.map(({ name }) => name), tokens }
}
