import { randomUUID } from 'node:crypto'
import { Environments } from '@berth/testing/environments/environments.ts'
import { outcome } from '@berth/testing/runs/outcome.ts'
import { startTestService, type TestService } from '@berth/testing/services/service.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

let test: TestService
let mine: Environments
beforeAll(async () => {
  test = await startTestService({ variables: { BERTH_ROLES: 'api' } })
  mine = new Environments(test.api)
})
afterAll(() => test[Symbol.asyncDispose]())

const proxies = ['HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY', 'NO_PROXY', 'FTP_PROXY']
const reserved = ['BERTH_', 'BERTH_URL', 'HOME', 'USER', 'LOGNAME', 'SHELL', 'TMPDIR', 'NODE_USE_ENV_PROXY']

describe('a name of the platform', () => {
  it.each([...reserved, ...proxies, ...proxies.map(name => name.toLowerCase())])(
    '%s is neither a variable nor a secret',
    async name => {
      const variables = await mine.put(randomUUID(), { name: `n ${randomUUID()}`, variables: { [name]: '' } })
      expect(variables.body).toMatchObject({ issues: [{ path: ['document', 'variables', name] }] })
      const { id } = await mine.make()
      const secret = await mine.writeSecret(id, name, 'a value', 1)
      expect([outcome(secret), secret.body]).toMatchObject([
        '400 environment_invalid',
        { issues: [{ path: ['name'] }] },
      ])
    },
  )

  it.each(['home', 'PATH', 'LANG', 'A'.repeat(128), '_'])('%s is not one', async name => {
    expect((await mine.make({ variables: { [name]: '' } })).revision).toBe(1)
  })

  it.each(['1A', 'A-B', '', 'A'.repeat(129), 'Ä'])('%j is no name at all', async name => {
    const put = await mine.put(randomUUID(), { name: `n ${randomUUID()}`, variables: { [name]: '' } })
    expect(outcome(put)).toBe('400 environment_invalid')
  })
})

describe('an equal document', () => {
  it('changes nothing although the deployment would refuse it by now, but its pins are judged', async () => {
    const { id, name } = await mine.make({ cache: { paths: ['kept'] } })
    // As if a rule had come since: an absolute path was never accepted.
    await test.db.database.query(
      "update environment_revisions set document = replace(document, 'kept', '/abs') where environment_id = $1",
      [id],
    )
    const document = { name, cache: { paths: ['/abs'] } }
    for (const seen of [undefined, 1, 9]) expect(outcome(await mine.put(id, document, seen))).toBe('200')
    const stale = { ...document, secrets: [{ name: 'A', version: 1 }] }
    expect(outcome(await mine.put(id, stale, 1))).toBe('400 environment_invalid')
    expect(outcome(await mine.put(id, { ...document, setup: 'true' }, 1))).toBe('400 environment_invalid')
  })

  it('of an archived environment is no conflict, and another one is, stale or not', async () => {
    const { id, name } = await mine.make()
    await mine.archive(id, 1)
    expect(outcome(await mine.put(id, { name }, 1))).toBe('200')
    for (const seen of [1, 2]) {
      const { body } = await mine.put(id, { name, setup: 'true' }, seen)
      expect(body).toEqual({ error: 'environment_conflict', message: 'the environment is archived' })
    }
  })
})

describe('the list', () => {
  it('pages through archived environments of one name by their ids', async () => {
    const theirs = new Environments((await test.newTenant()).api)
    const ids: string[] = []
    for (const name of ['same', 'SAME', 'Same']) {
      const { id } = (await theirs.put(randomUUID(), { name })).body.environment
      await theirs.archive(id, 1)
      ids.push(id)
    }
    const seen: string[] = []
    for (let cursor = ''; ; ) {
      const { body } = await theirs.list(`?archived=only&limit=1${cursor}`)
      seen.push(...body.environments.map(({ id }) => id))
      if (!body.hasMore) break
      cursor = `&cursor=${body.nextCursor}`
    }
    expect(seen).toEqual(ids.toSorted())
  })
})

describe('unarchiving', () => {
  it('judges the name before the quota', async () => {
    const { tenant, api } = await test.newTenant()
    const theirs = new Environments(api)
    const first = await theirs.make()
    await theirs.archive(first.id, 1)
    await theirs.put(randomUUID(), { name: first.name })
    await test.db.database.query(
      `insert into environments (organization_id, id, name, folded_name, revision)
       select $1, gen_random_uuid(), 'n' || n, 'n' || n, 1 from generate_series(1, 199) n`,
      [tenant.organizationId],
    )
    expect((await theirs.unarchive(first.id, 2)).body).toMatchObject({
      error: 'environment_conflict',
      message: expect.stringContaining('name'),
    })
  })

  it('of one that is live is a conflict, unless it answers a lost answer', async () => {
    const { id, name } = await mine.make()
    await mine.put(id, { name, setup: 'true' }, 1)
    expect(outcome(await mine.unarchive(id, 2))).toBe('200')
    expect(outcome(await mine.unarchive(id, 9))).toBe('409 environment_conflict')
  })
})
