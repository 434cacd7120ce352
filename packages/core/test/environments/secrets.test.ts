import { randomUUID } from 'node:crypto'
import { type Accounts, startAccounts } from '@berth/testing/accounts/accounts.ts'
import { Environments } from '@berth/testing/environments/environments.ts'
import { outcome } from '@berth/testing/runs/outcome.ts'
import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { environmentChores } from '../../src/environments/environment-chores.ts'
import { placeOf } from '../../src/environments/secrets.ts'

let accounts: Accounts
let mine: Environments
beforeAll(async () => {
  accounts = await startAccounts()
  mine = new Environments(accounts.test.api)
})
afterAll(() => accounts[Symbol.asyncDispose]())

/** Returns the stored versions of an environment's secrets. */
async function stored(environmentId: string) {
  const { rows } = await accounts.test.db.database.query<{
    name: string
    version: number
    sealed: Buffer | null
    ended_at: Date | null
  }>(
    'select name, version, sealed, ended_at from environment_secrets where environment_id = $1 order by name, version',
    [environmentId],
  )
  return rows
}

describe('a secret', () => {
  it('is sealed, pinned by the revision that wrote it, and never answered', async () => {
    const { id } = await mine.make()
    const answers = [
      await mine.writeSecret(id, 'B', 'canary-in-b', 1),
      await mine.writeSecret(id, 'A', 'canary-in-a', 2),
    ]
    expect(answers[1]?.body.environment).toMatchObject({
      revision: 3,
      secrets: [
        { name: 'A', version: 1 },
        { name: 'B', version: 1 },
      ],
    })
    const { tenant, api, db } = accounts.test
    const texts = [...answers.map(({ text }) => text), (await mine.read(id)).text, (await mine.list()).text]
    texts.push((await api.get(`/v1/environments/${id}/revisions`)).text)
    expect(texts.filter(text => text.includes('canary'))).toEqual([])
    const [a] = await stored(id)
    const key = { organizationId: tenant.organizationId, environmentId: id }
    expect(accounts.masterKey.open(a?.sealed ?? Buffer.alloc(0), placeOf(key, 'A', 1)).toString()).toBe('canary-in-a')
    expect(() => accounts.masterKey.open(a?.sealed ?? Buffer.alloc(0), placeOf(key, 'B', 1))).toThrow()
    const { rows } = await db.database.query<{ text: string }>(
      'select r::text as text from environment_revisions r union all select s::text from environment_secrets s',
    )
    expect(rows.filter(({ text }) => text.includes('canary'))).toEqual([])
  })

  it('has versions that never come again, and a write of the same value is a write', async () => {
    const { id } = await mine.make()
    await mine.writeSecret(id, 'A', 'same value', 1)
    expect((await mine.writeSecret(id, 'A', 'same value', 2)).body.environment).toMatchObject({
      revision: 3,
      secrets: [{ name: 'A', version: 2 }],
    })
    expect((await mine.deleteSecret(id, 'A', 3)).body.environment).toMatchObject({ revision: 4, secrets: [] })
    expect((await mine.deleteSecret(id, 'A', 1)).body.environment).toMatchObject({ revision: 4 })
    expect((await mine.writeSecret(id, 'A', 'later', 4)).body.environment.secrets).toEqual([
      { name: 'A', version: 3, exposure: 'variable' },
    ])
  })

  it('stays as it is today when a revision is restored', async () => {
    const { id } = await mine.make({ setup: 'echo 1' })
    await mine.writeSecret(id, 'GONE', 'one two three', 1)
    const { name } = (await mine.deleteSecret(id, 'GONE', 2)).body.environment
    await mine.put(id, { name, setup: 'echo 2' }, 3)
    const restored = (await mine.restore(id, 2, 4)).body.environment
    expect(restored).toMatchObject({ revision: 5, document: { setup: 'echo 1', secrets: [] }, secrets: [] })
  })

  it('is destroyed minutes after its end, and what is pinned stays', async () => {
    const { id } = await mine.make()
    await mine.writeSecret(id, 'A', 'first value', 1)
    await mine.writeSecret(id, 'A', 'second value', 2)
    const { db } = accounts.test
    const destroyAt = async (minutes: number) => {
      const clock = { now: () => new Date(Date.now() + minutes * 60_000) }
      for (const chore of environmentChores({ db: db.database, clock, log: pino({ level: 'silent' }) }))
        await chore.work(AbortSignal.timeout(60_000))
    }
    await destroyAt(0)
    expect((await stored(id)).map(({ sealed }) => sealed !== null)).toEqual([true, true])
    await destroyAt(2)
    expect((await stored(id)).map(({ sealed }) => sealed !== null)).toEqual([false, true])
  })

  it.each([
    ['BERTH_KEY', 'v', 'name'],
    ['HOME', 'v', 'name'],
    ['https_proxy', 'v', 'name'],
    ['A_VARIABLE', 'v', 'name'],
    ['A', '', 'value'],
    ['A', 'a\0b', 'value'],
    ['A', 'v'.repeat(32_769), 'value'],
  ])('is refused under the name %s with %j', async (name, value, member) => {
    const { id } = await mine.make({ variables: { A_VARIABLE: '1' } })
    const { status, body } = await mine.writeSecret(id, name, value, 1)
    expect([status, body]).toMatchObject([400, { error: 'environment_invalid', issues: [{ path: [member] }] }])
  })

  it('may not take the name of a variable, nor a variable its name', async () => {
    const { id, name } = await mine.make()
    await mine.writeSecret(id, 'A', 'a value', 1)
    const { body } = await mine.put(id, { name, variables: { A: '' } }, 2)
    expect(body).toMatchObject({ error: 'environment_invalid', issues: [{ path: ['document', 'variables', 'A'] }] })
    const pins = [{ name: 'A', version: 1 }]
    expect((await mine.put(id, { name, setup: 'true', secrets: pins }, 2)).status).toBe(200)
  })

  it('has room beside 99 others, and beside no more than 512 KiB', async () => {
    const { id } = await mine.make()
    const { organizationId } = accounts.test.tenant
    const fill = (count: number, bytes: number) =>
      accounts.test.db.database.query(
        `insert into environment_secrets (organization_id, environment_id, name, version, size_bytes, sealed, created_at)
         select $1, $2, 'N' || n, 1, $4, '', now() from generate_series(1, $3::int) n`,
        [organizationId, id, count, bytes],
      )
    await fill(99, 1)
    expect((await mine.writeSecret(id, 'A', 'v', 1)).status).toBe(200)
    expect(outcome(await mine.writeSecret(id, 'B', 'v', 2))).toBe('400 environment_invalid')
    expect((await mine.writeSecret(id, 'A', 'another', 2)).status).toBe(200)
    const heavy = await mine.make()
    await accounts.test.db.database.query(
      `insert into environment_secrets (organization_id, environment_id, name, version, size_bytes, sealed, created_at)
       select $1, $2, 'N' || n, 1, 32768, '', now() from generate_series(1, 15) n`,
      [organizationId, heavy.id],
    )
    expect((await mine.writeSecret(heavy.id, 'A', 'v'.repeat(32_768), 1)).status).toBe(200)
    expect(outcome(await mine.writeSecret(heavy.id, 'B', 'v', 2))).toBe('400 environment_invalid')
  })

  it('is told of where it is too short to be masked', async () => {
    const { id } = await mine.make()
    const warned = async (value: string, seen: number) =>
      (await mine.writeSecret(id, 'PIN', value, seen)).body.environment.warnings
    const short = [{ path: ['secrets', 'PIN'], message: expect.stringContaining('fewer than 8 characters') }]
    expect(await warned('1234567', 1)).toEqual(short)
    // Seven characters in fourteen bytes.
    expect(await warned('ééééééé', 2)).toEqual(short)
    expect(await warned('12345678', 3)).toEqual([])
  })
})

describe('the default', () => {
  it('writes a revision of the old one and the new one, and none for the same again', async () => {
    const [a, b] = [await mine.make(), await mine.make()]
    expect((await mine.choose(a.id)).body.environment).toMatchObject({ id: a.id, isDefault: true, revision: 2 })
    expect((await mine.choose(a.id)).body.environment).toMatchObject({ revision: 2 })
    expect((await mine.choose(b.id)).body.environment).toMatchObject({ id: b.id, isDefault: true, revision: 2 })
    expect((await mine.read(a.id)).body.environment).toMatchObject({ isDefault: false, revision: 3 })
    expect((await mine.list()).body.defaultEnvironmentId).toBe(b.id)
    expect((await mine.choose(null)).body).toEqual({ environment: null })
    expect((await mine.choose(null)).body).toEqual({ environment: null })
    expect((await mine.read(b.id)).body.environment).toMatchObject({ isDefault: false, revision: 3 })
    expect(outcome(await mine.choose(randomUUID()))).toBe('404 environment_not_found')
    expect(outcome(await accounts.test.api.put('/v1/organization/default-environment', { id: 'x' }))).toBe(
      '400 environment_invalid',
    )
    expect(outcome(await accounts.test.api.put('/v1/organization/default-environment', {}))).toBe('400 invalid_request')
  })

  it('ends as one of the two when two are chosen at once', async () => {
    const made = await Promise.all([mine.make(), mine.make()])
    await Promise.all(made.map(({ id }) => mine.choose(id)))
    const defaults = await Promise.all(made.map(async ({ id }) => (await mine.read(id)).body.environment.isDefault))
    expect(defaults.sort()).toEqual([false, true])
    await mine.choose(null)
  })

  it('is written by people too, who are named as its author', async () => {
    const { api, who } = await accounts.person({ role: 'member' })
    const made = await new Environments(api).make()
    expect(made.createdBy).toEqual({ kind: 'person', id: who.personId })
  })
})
