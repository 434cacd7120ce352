import { chmod, mkdir, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { BerthProcess } from './berth-process.ts'
import { addressOf, Home, land, PeopleService, type Person } from './people-service.ts'
import { ScriptedService } from './scripted-service.ts'

let service: PeopleService
let person: Person
let second: string
beforeAll(async () => {
  service = await PeopleService.start()
  person = await service.newPerson()
  second = await service.newOrganization('Café & Söhne', person)
})
afterAll(() => service[Symbol.asyncDispose]())

const organizationOf = async (home: Home, ...flags: string[]) =>
  JSON.parse((await home.run('whoami', '--json', ...flags)).stdout).organization.id

test('a person of two organizations keeps a profile of each, and switches', async () => {
  await using home = await Home.make()
  await home.signIn(service, person, '--profile', 'first', '--organization', person.organizationId)
  // The deployment is that of the current profile.
  const it = home.berth('login', '--organization', second)
  await land(await service.signInOnPages(await addressOf(it), person))
  expect(await it.ended()).toBe(0)
  expect(await organizationOf(home)).toBe(second)
  expect(await organizationOf(home, '--profile', 'first')).toBe(person.organizationId)
  const listed = await home.run('switch')
  expect(listed.stdout.split('\n')).toEqual([
    expect.stringMatching(/^\* cafe-sohne {2}Café & Söhne/),
    expect.stringMatching(/^ {2}first {6} /),
    '',
  ])
  const chosen = await home.run('switch', 'first')
  expect(chosen).toMatchObject({ code: 0, stdout: expect.stringContaining(person.email) })
  expect(await organizationOf(home)).toBe(person.organizationId)
  const rows = (await home.run('switch', '--json')).stdout.split('\n').slice(0, -1)
  expect(rows.map(row => JSON.parse(row))).toEqual([
    expect.objectContaining({ name: 'cafe-sohne', current: false, signedIn: true }),
    expect.objectContaining({ name: 'first', current: true, url: service.url }),
  ])
  const unknown = await home.run('switch', 'third')
  expect([unknown.code, unknown.stderr]).toEqual([2, 'berth: there is no profile third; there are cafe-sohne, first\n'])

  const out = await home.run('logout', '--profile', 'cafe-sohne')
  expect(out.code).toBe(0)
  expect(await organizationOf(home)).toBe(person.organizationId)
  expect((await home.run('logout', '--all')).code).toBe(0)
  expect((await readdir(join(home.config, 'profiles'))).filter(name => name.endsWith('.json'))).toEqual([])
  const live = await service.query('select id from sign_ins where person_id = $1 and ended_at is null', [
    person.personId,
  ])
  // The sign-in that made the person is no terminal's.
  expect(live).toHaveLength(1)
})

test('to sign in again replaces the profile and ends the sign-in before', async () => {
  await using home = await Home.make()
  const someone = await service.newPerson()
  await home.signIn(service, someone, '--profile', 'mine')
  const { tokens } = await home.profile('mine')
  await home.signIn(service, someone)
  expect((await home.run('switch')).stdout).toMatch(/^\* mine /)
  expect((await home.profile('mine')).tokens.access).not.toBe(tokens.access)
  const before = await fetch(`${service.url}/v1/me`, { headers: { authorization: `Bearer ${tokens.access}` } })
  expect(before.status).toBe(401)
})

test('a key goes before a profile, and a profile only to its own deployment', async () => {
  await using home = await Home.make()
  await using other = await ScriptedService.start()
  await home.signIn(service, person, '--profile', 'first', '--organization', person.organizationId)
  const env = { BERTH_URL: service.url, BERTH_API_KEY: service.test.tenant.apiKey }
  const keyed = new BerthProcess(['whoami', '--json'], { cwd: home.path, env })
  expect(await keyed.ended()).toBe(0)
  expect(JSON.parse(keyed.stdout)).toMatchObject({ user: null, credential: { kind: 'key', from: 'BERTH_API_KEY' } })
  const named = new BerthProcess(['whoami', '--profile', 'first', '--json'], { cwd: home.path, env })
  expect(await named.ended()).toBe(0)
  expect(JSON.parse(named.stdout).user.id).toBe(person.personId)
  const elsewhere = await home.run('sessions', '--url', other.url)
  expect([elsewhere.code, elsewhere.stderr]).toEqual([2, expect.stringContaining(`no credential for ${other.url}`)])
  const wrong = await home.run('sessions', '--url', other.url, '--profile', 'first')
  expect([wrong.code, wrong.stderr]).toEqual([2, expect.stringContaining(`profile first is of ${service.url}`)])
  expect(other.taken).toEqual([])
})

test('a sign-in that ended when the local service began anew gives way to the key of that service', async () => {
  await using home = await Home.make()
  await home.signIn(service, person, '--profile', 'mine', '--organization', person.organizationId)
  const begun = async (organizationId: string) => {
    const { apiKey } = service.test.tenant
    await mkdir(join(home.path, '.berth'), { recursive: true })
    await writeFile(
      join(home.path, '.berth', 'dev.json'),
      JSON.stringify({ baseUrl: service.url, apiKey, organizationId }),
    )
  }
  await begun(second)
  expect(await home.run('whoami')).toMatchObject({ code: 0, stdout: expect.stringContaining(person.email), stderr: '' })
  await home.changeTokens('mine', { access: 'of-the-service-before', refresh: 'gone' })
  const local = { user: null, credential: { kind: 'key', from: join('.berth', 'dev.json') } }
  for (const _ of ['refused', 'known to be refused']) {
    const { code, stdout, stderr } = await home.run('whoami', '--json')
    expect([code, stderr]).toEqual([
      0,
      'berth: the sign-in of profile mine has ended, so this uses the key in .berth/dev.json; `berth login --profile mine` signs in again\n',
    ])
    expect(JSON.parse(stdout)).toMatchObject(local)
  }
  expect((await home.run('doctor')).stdout).toMatch(
    /warning\tkey\tthe sign-in of profile mine has ended.*\n(?:.*\n)*ok\tkey/,
  )
  expect(await home.run('whoami', '--profile', 'mine')).toMatchObject({ code: 4 })
  // Of the service's own organization it is just a sign-in that has ended.
  await begun(person.organizationId)
  expect(await home.run('whoami')).toMatchObject({ code: 4, stdout: '' })
})

test('a file that is broken, or that others may read, is named with what mends it', async () => {
  await using home = await Home.make()
  await home.signIn(service, person, '--profile', 'first', '--organization', person.organizationId)
  const path = home.profilePath('first')
  await chmod(path, 0o640)
  const open = await home.run('whoami')
  expect([open.code, open.stderr]).toEqual([2, expect.stringContaining(`other users can read ${path}`)])
  expect(open.stderr).toContain(`chmod 600 ${path}`)
  await chmod(path, 0o600)
  expect((await home.run('whoami')).code).toBe(0)
  for (const text of ['{', '[]', '{"url": 1}', JSON.stringify({ ...(await home.profile('first')), tokens: {} })]) {
    await writeFile(path, text)
    const broken = await home.run('whoami')
    expect([broken.code, broken.stderr]).toEqual([
      2,
      `berth: ${path} is not a profile; delete it, and sign in again with \`berth login --profile first\`\n`,
    ])
  }
  expect((await home.run('switch')).stdout).toContain(`${path} is not a profile`)
  await home.signIn(service, person, '--profile', 'first', '--organization', person.organizationId)
  expect((await home.run('whoami')).code).toBe(0)
  const odd = await home.run('whoami', '--profile', '../first')
  expect([odd.code, odd.stderr]).toEqual([2, expect.stringContaining('cannot name a profile')])
})

test('logout forgets a sign-in whose service does not answer, and says that it goes on there', async () => {
  await using home = await Home.make()
  const gone = await PeopleService.start()
  await home.signIn(gone, await gone.newPerson(), '--profile', 'gone')
  await gone[Symbol.asyncDispose]()
  const out = await home.run('logout')
  expect([out.code, out.stdout]).toEqual([1, expect.stringContaining('signed out of profile gone')])
  expect(out.stderr).toContain(`was not told: nothing answers at ${gone.url}`)
  expect((await home.run('switch')).stdout).toBe('')
})
