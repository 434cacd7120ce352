import { hash } from 'node:crypto'
import { once } from 'node:events'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { spawn } from '../../../script/testing/spawn.ts'
import { Home, PeopleService, type Person } from './people-service.ts'

const holder = fileURLToPath(new URL('hold-lock.ts', import.meta.url))
const atItsEnd = { expiresAt: 0 }

let service: PeopleService
beforeAll(async () => {
  service = await PeopleService.start()
})
afterAll(() => service[Symbol.asyncDispose]())

/** Signs someone in, under the name `me`. */
async function signedIn(): Promise<{ home: Home; person: Person }> {
  const [home, person] = [await Home.make(), await service.newPerson()]
  await home.signIn(service, person, '--profile', 'me')
  return { home, person }
}

/** Counts how often the person's refresh tokens were used. */
async function refreshes({ personId }: Person): Promise<number> {
  const rows = await service.query<{ grant_digest: Buffer }>(
    "select grant_digest from oidc_records where kind = 'RefreshToken' and consumed_at is not null",
    [],
  )
  const signIns = await service.query<{ id: string }>('select id from sign_ins where person_id = $1', [personId])
  const grants = new Set(signIns.map(({ id }) => hash('sha256', id)))
  return rows.filter(row => grants.has(row.grant_digest.toString('hex'))).length
}

test('eight processes that find the token at its end renew it once, and all go on', async () => {
  const { home, person } = await signedIn()
  await using _home = home
  const before = (await home.profile('me')).tokens
  await home.changeTokens('me', atItsEnd)
  const all = await Promise.all(Array.from({ length: 8 }, () => home.run('whoami', '--json')))
  expect(all.map(({ code, stderr }) => [code, stderr])).toEqual(Array(8).fill([0, '']))
  expect(await refreshes(person)).toBe(1)
  const { tokens } = await home.profile('me')
  expect(tokens.refresh).not.toBe(before.refresh)
  expect(tokens.expiresAt).toBeGreaterThan(Date.now())
  expect((await home.modes())['profiles/me.json']).toBe('600')
  expect(Object.keys(await home.modes()).filter(name => name.includes('tmp'))).toEqual([])
  expect((await home.run('sessions')).code).toBe(0)
})

test('a token that the service refuses before its time is renewed, and the request is sent again', async () => {
  const { home, person } = await signedIn()
  await using _home = home
  const [head = '', claims = ''] = (await home.profile('me')).tokens.access.split('.')
  await home.changeTokens('me', { access: `${head}.${claims}.AAAA` })
  const it = await home.run('whoami')
  expect([it.code, it.stderr]).toEqual([0, ''])
  expect(await refreshes(person)).toBe(1)
})

test('a command waits for the process that renews, and takes over at once if that process is killed', async () => {
  const { home, person } = await signedIn()
  await using _home = home
  await using lock = spawn(process.execPath, [holder, join(home.config, 'profiles', 'me.lock')])
  const [line] = await once(lock.stdout, 'data')
  expect(String(line)).toBe('held\n')
  // A token that serves needs no lock.
  expect((await home.run('whoami')).code).toBe(0)
  await home.changeTokens('me', atItsEnd)
  const waiting = home.berth('whoami')
  const first = await Promise.race([waiting.ended(), home.run('switch').then(() => 'still waiting')])
  expect([first, await refreshes(person)]).toEqual(['still waiting', 0])
  lock.kill('SIGKILL')
  expect(await waiting.ended()).toBe(0)
  expect(await refreshes(person)).toBe(1)
})

test.each<[string, (person: Person) => Promise<unknown>]>([
  [
    'whose sign-in was ended',
    ({ personId }) => service.query('update sign_ins set ended_at = now() where person_id = $1', [personId]),
  ],
  [
    'whose membership has ended',
    ({ membershipId }) => service.query('update memberships set revoked_at = now() where id = $1', [membershipId]),
  ],
])('a person %s is told to sign in again, and the service is asked only once', async (_, end) => {
  const { home, person } = await signedIn()
  await using _home = home
  await end(person)
  const hint = 'berth: the sign-in of profile me has ended; sign in again: berth login --profile me\n'
  for (let n = 0; n < 2; n++) {
    const it = await home.run('sessions')
    expect([it.code, it.stderr]).toEqual([4, hint])
  }
  expect((await home.profile('me')).tokens).toBeNull()
  expect((await home.run('switch')).stdout).toContain('(ended; sign in again)')
  expect((await home.run('logout')).code).toBe(0)
})

test('while the service is away, a renewal fails and the sign-in is kept', async () => {
  const home = await Home.make()
  await using _home = home
  const gone = await PeopleService.start()
  await home.signIn(gone, await gone.newPerson(), '--profile', 'me')
  await home.changeTokens('me', atItsEnd)
  await gone[Symbol.asyncDispose]()
  const it = await home.run('whoami')
  expect([it.code, it.stderr]).toEqual([1, expect.stringContaining(`nothing answers at ${gone.url}`)])
  expect((await home.profile('me')).tokens.refresh).toEqual(expect.any(String))
})
