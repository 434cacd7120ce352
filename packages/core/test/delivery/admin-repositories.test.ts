import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { systemClock } from '@berth/platform/kit/clock.ts'
import { addGrant, readGrants, replaceGrant, revokeGrants } from '@berth/server/admin/grants.ts'
import { readBranchRules, readChecks, recordCheck, setBranchRule } from '@berth/server/admin/repositories.ts'
import { createTenant, type Tenant } from '@berth/testing/api/tenant.ts'
import { GitHubServer } from '@berth/testing/git/github-server.ts'
import { commitTo, sampleRepository, tipOf } from '@berth/testing/git/repositories.ts'
import { databaseUrl } from '@berth/testing/services/service.ts'
import { createTestDatabase, type TestDatabase } from '@berth/testing/storage/postgres.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { LOCAL_ACCOUNT, LocalHost } from '../../src/git-hosts/local/local-host.ts'
import { findActiveGrant } from '../../src/repositories/active-grant.ts'

const berth = fileURLToPath(new URL('../../../cli/dist/berth.js', import.meta.url))
const stack = new AsyncDisposableStack()
let db: TestDatabase
let server: GitHubServer
let variables: Record<string, string>
let gitDir: string
beforeAll(async () => {
  db = stack.use(await createTestDatabase())
  server = stack.use(await GitHubServer.start())
  const dataDir = await mkdtemp(join(tmpdir(), 'berth-admin-'))
  stack.defer(() => rm(dataDir, { recursive: true }))
  gitDir = await sampleRepository(join(dataDir, 'repositories'))
  const gitHosts = [{ kind: 'github', baseUrl: server.url, appId: server.appId, privateKey: { env: 'GITHUB_KEY' } }]
  await writeFile(join(dataDir, 'berth.json'), JSON.stringify({ gitHosts }), { mode: 0o600 })
  variables = {
    DATABASE_URL: databaseUrl(db),
    BERTH_DATA_DIR: dataDir,
    ...{ BERTH_CONFIG: join(dataDir, 'berth.json'), GITHUB_KEY: server.privateKey },
  }
})
afterAll(() => stack.disposeAsync())

/** Runs an operator's command and returns its output. */
const shell = async (...args: string[]) =>
  (await promisify(execFile)(process.execPath, [berth, 'admin', ...args], { env: variables })).stdout

describe('the rules and checks of the data directory', () => {
  const sample = 'sample/greeter'

  it('hold a pull request back until a CI reports success', async () => {
    const host = new LocalHost(
      db.database,
      systemClock,
      join(variables['BERTH_DATA_DIR'] ?? '', 'repositories'),
      () => '',
    )
    const oid = await commitTo(gitDir, 'feature', await tipOf(gitDir, 'main'), { feature: '1' })
    const ref = await host.findRepository(sample)
    if (ref === null) throw new Error('no repository')
    const { number } = await host.openPull(ref, { title: 't', body: '', head: 'feature', base: 'main', draft: false })
    const blockers = async () => (await host.readPull(ref, number)).blockers

    const set = await shell('rule', 'set', sample, 'main', '--check', 'tests', '--check', 'a lint')
    expect(set).toBe('main accepts pull requests only; required checks: tests, a lint\n')
    expect(await blockers()).toEqual(['checks'])
    expect(await shell('check', 'record', sample, oid.toUpperCase(), 'tests', 'success')).toBe('')
    await recordCheck(variables, sample, { oid, name: 'a lint', state: 'failure' })
    expect(await blockers()).toEqual(['checks'])
    await recordCheck(variables, sample, { oid, name: 'a lint', state: 'success' })
    expect(await blockers()).toEqual([])
    const listed = (await shell('check', 'list', sample, oid, '--json')).trim().split('\n')
    expect(listed.map(line => JSON.parse(line))).toMatchObject([
      { name: 'a lint', state: 'success' },
      { name: 'tests' },
    ])

    await setBranchRule(variables, sample, 'main', ['tests', 'tests'])
    expect(await readBranchRules(variables, sample)).toEqual([{ branch: 'main', requiredChecks: ['tests'] }])
    for (let time = 0; time < 2; time++) await setBranchRule(variables, sample, 'main', null)
    expect(await readBranchRules(variables, sample)).toEqual([])
  })

  it.each(['sample', 'sample/none', '../greeter', 'sample/greeter/x', 'sample/greeter.git', '/', ''])(
    'cannot be set for %j',
    async name => {
      await expect(readBranchRules(variables, name)).rejects.toThrow('there is no bare repository')
    },
  )

  it('are refused if they could never be met', async () => {
    for (const branch of ['', 'a..b', '-x', 'refs/heads/main', 'a b', 'a\nb']) {
      await expect(setBranchRule(variables, sample, branch, [])).rejects.toThrow('not a name that git takes')
    }
    for (const name of ['', ' tests', 'a\nb', 'x'.repeat(256)]) {
      await expect(setBranchRule(variables, sample, 'main', [name])).rejects.toThrow('no name of a check')
      const check = { oid: await tipOf(gitDir, 'main'), name, state: 'success' } as const
      await expect(recordCheck(variables, sample, check)).rejects.toThrow('no name of a check')
    }
    const many = Array.from({ length: 101 }, (_, at) => `check ${at}`)
    await expect(setBranchRule(variables, sample, 'main', many)).rejects.toThrow('at most 100')
    for (const oid of ['main', 'HEAD', 'abc123', '', '--all']) {
      await expect(readChecks(variables, sample, oid)).rejects.toThrow('no commit id of 40 digits')
    }
    const tree = (await promisify(execFile)('git', ['--git-dir', gitDir, 'rev-parse', 'main^{tree}'])).stdout.trim()
    for (const oid of ['0'.repeat(40), tree]) {
      const check = { oid, name: 'tests', state: 'success' } as const
      await expect(recordCheck(variables, sample, check)).rejects.toThrow(`has no commit ${oid}`)
    }
  })
})

let ids = 20
/** Adds an account with these repositories, by id, to the GitHub server. */
function account(repositories: Readonly<Record<string, number>>): string {
  const id = String(++ids)
  for (const [fullName, repositoryId] of Object.entries(repositories)) {
    server.addRepository({ id: repositoryId, fullName, gitDir, installations: [id] })
  }
  return id
}

describe('grants', () => {
  let tenant: Tenant
  beforeAll(async () => {
    tenant = await createTenant(db.database)
  })

  it('can be added, listed and revoked from the command line', async () => {
    const { installationId } = await createTenant(db.database)
    const at = account({ 'acme/site': 100, 'acme/api': 101 })
    const [first = '', ...lines] = (await shell('grant', 'add', installationId, '--account', at)).trim().split('\n')
    expect(first).toMatch(new RegExp(`active {4}github:\\S+ ${at} acme \\(all repositories\\) for installation`))
    expect(lines.map(line => line.trim().split(/ +/).slice(1))).toEqual([
      ['active', 'acme/api'],
      ['active', 'acme/site'],
    ])
    for (let time = 0; time < 2; time++) await revokeGrants(variables, first.split(' ')[0] ?? '')
    expect(await shell('grant', 'list', installationId, '--all')).toMatch(/revoked .*\n.*revoked .*acme\/api/)
  })

  it('are unchanged if they are added again', async () => {
    const at = account({ 'again/one': 110, 'again/two': 111 })
    const order = { installationId: tenant.installationId, account: at }
    const one = await addGrant(variables, { ...order, repositories: ['again/ONE'] })
    expect(one).toMatchObject({ whole: false, accountLogin: 'again', repositories: [{ fullName: 'again/one' }] })
    expect(await addGrant(variables, { ...order, repositories: ['again/one'] })).toEqual(one)
    const whole = await addGrant(variables, { ...order, repositories: [] })
    expect(whole).toMatchObject({
      id: one.id,
      whole: true,
      repositories: [one.repositories[0], { repositoryId: '111' }],
    })
    expect(await addGrant(variables, { ...order, repositories: ['again/two'] })).toEqual(whole)
    await expect(revokeGrants(variables, one.repositories[0]?.grantId ?? '')).rejects.toThrow(`revoke ${one.id}`)
  })

  it('of single repositories can be revoked one by one and granted again', async () => {
    const order = { installationId: tenant.installationId, account: account({ 'single/one': 120 }) }
    const { repositories } = await addGrant(variables, { ...order, repositories: ['single/one'] })
    const [{ grantId } = { grantId: '' }] = repositories
    for (let time = 0; time < 2; time++) await revokeGrants(variables, grantId)
    expect(await findActiveGrant(db.database, tenant, grantId)).toBeNull()
    const again = await addGrant(variables, { ...order, repositories: ['single/one'] })
    expect(again.repositories.map(({ status }) => status)).toEqual(['revoked', 'active'])
  })

  it('of an account move to another account with the same repositories', async () => {
    const { installationId } = tenant
    const old = await addGrant(variables, {
      ...{ installationId, account: account({ 'old/kept': 130, 'old/lost': 131 }), repositories: [] },
    })
    const by = await addGrant(variables, { installationId, account: account({ 'new/kept': 130 }), repositories: [] })
    expect(await replaceGrant(variables, old.id, by.id)).toEqual(['old/kept'])
    expect(await replaceGrant(variables, old.id, by.id)).toEqual([])
    const [kept, lost] = old.repositories
    expect(await findActiveGrant(db.database, tenant, kept?.grantId ?? '')).toMatchObject({ full_name: 'new/kept' })
    expect(await findActiveGrant(db.database, tenant, lost?.grantId ?? '')).toBeNull()
    expect(await readGrants(variables, installationId)).toContainEqual(
      expect.objectContaining({
        id: old.id,
        status: 'revoked',
        repositories: [
          { ...kept, status: 'replaced' },
          { ...lost, status: 'revoked' },
        ],
      }),
    )
  })

  it('can be replaced only by grants of the same kind', async () => {
    const { installationId } = tenant
    const one = await addGrant(variables, { installationId, account: account({ 'like/a': 140 }), repositories: [] })
    const two = await addGrant(variables, { installationId, account: account({ 'like/b': 141 }), repositories: [] })
    const other = await createTenant(db.database)
    const strange = await addGrant(variables, {
      ...{ installationId: other.installationId, account: account({ 'like/c': 142 }), repositories: [] },
    })
    const [a = '', b = ''] = [one, two].map(({ repositories }) => repositories[0]?.grantId ?? '')
    const wrong: readonly [string, string, string][] = [
      [one.id, b, 'replace a grant by a grant'],
      [one.id, strange.id, 'of one installation'],
      [a, a, 'cannot replace itself'],
      [a, randomUUID(), 'there is no grant'],
      ['x', b, 'x is no id'],
    ]
    for (const [id, by, reason] of wrong) await expect(replaceGrant(variables, id, by)).rejects.toThrow(reason)
    expect(await replaceGrant(variables, a, b)).toEqual(['like/a'])
    expect(await findActiveGrant(db.database, tenant, a)).toMatchObject({ full_name: 'like/b' })
    await revokeGrants(variables, two.id)
    await expect(replaceGrant(variables, a, b)).rejects.toThrow('has ended')
  })

  it('of the data directory need no account', async () => {
    const order = { installationId: tenant.installationId, host: 'local', repositories: [] }
    const granted = await addGrant(variables, order)
    expect(granted).toMatchObject({
      account: LOCAL_ACCOUNT,
      whole: true,
      repositories: [{ fullName: 'sample/greeter' }],
    })
  })

  it.each<[object, RegExp]>([
    [{ installationId: 'x' }, /no installation x/],
    [{ installationId: randomUUID() }, /no installation/],
    [{ host: 'gitlab:x' }, /no host gitlab:x; the configuration has local, github:/],
    [{ account: undefined }, /name the account/],
    [{ account: '999999' }, /knows no account 999999/],
    [{ account: 'acme' }, /knows no account acme/],
    [{ repositories: ['acme/none'] }, /does not reach acme\/none/],
  ])('are refused for %j', async (order, reason) => {
    const at = account({ 'acme/refused': 150 })
    const { installationId } = tenant
    await expect(addGrant(variables, { installationId, account: at, repositories: [], ...order })).rejects.toThrow(
      reason,
    )
  })

  it.each([
    [401, /does not take the appId/],
    [403, /refuses the App/],
    [429, /left alone/],
    [500, /does not answer/],
  ])('are not made while the host answers %i', async (status, reason) => {
    const order = { installationId: tenant.installationId, account: account({ 'acme/away': 160 }), repositories: [] }
    server.fail({ when: /installation/, answer: { status } })
    await expect(addGrant(variables, order)).rejects.toThrow(reason)
    server.mend()
    const accounts = await readGrants(variables, tenant.installationId)
    expect(accounts.map(({ account: id }) => id)).not.toContain(order.account)
  })
})
