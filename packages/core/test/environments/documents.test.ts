import { randomUUID } from 'node:crypto'
import type { EnvironmentRevisionPage } from '@berth/contract'
import { Api } from '@berth/testing/api/api.ts'
import { createInstallation } from '@berth/testing/api/tenant.ts'
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

/** A name that no other test uses. */
const fresh = () => `fresh ${randomUUID()}`
const full = {
  description: 'what it is for',
  setup: 'npm ci\n',
  variables: { B: '2', A: '1' },
  extensions: [],
  cache: { paths: ['~/.npm', 'target'] },
  github: true,
  repositories: [{ repository: 'acme/tools', branch: 'main', path: 'tools' }],
  preview: { command: 'npm run dev\n', port: 3000 },
}

describe('a document', () => {
  it('is answered with every member, and what it leaves out is empty', async () => {
    const id = randomUUID()
    const name = fresh()
    const made = await mine.put(id, { name })
    expect([made.status, made.headers.get('location'), made.headers.get('etag')]).toEqual([
      201,
      `/v1/environments/${id}`,
      '"1"',
    ])
    const document = {
      name,
      description: '',
      setup: '',
      variables: {},
      extensions: [],
      cache: { paths: [] },
      github: false,
      repositories: [],
      prebuild: false,
      packages: [],
      checks: [],
      requireVerified: false,
      network: { mode: 'open', hosts: [] },
      secrets: [],
    }
    expect(made.body.environment).toEqual({
      id,
      name,
      revision: 1,
      isDefault: false,
      archivedAt: null,
      document,
      archives: [],
      secrets: [],
      createdBy: { kind: 'installation', id: test.tenant.installationId },
      createdAt: expect.any(String),
      warnings: [],
      proposedHosts: [],
    })
    expect((await mine.read(id)).body).toEqual(made.body)
  })

  it('says of its network what it is given, and an open one without hosts is no change', async () => {
    const { id, name } = await mine.make()
    expect((await mine.put(id, { name, network: { mode: 'open' } }, 1)).body.environment).toMatchObject({ revision: 1 })
    const network = { mode: 'listed', hosts: ['registry.npmjs.org', '*.example.com', 'xn--mnchen-3ya.de'] } as const
    const { body } = await mine.put(id, { name, network: { mode: 'listed', hosts: [...network.hosts] } }, 1)
    expect(body.environment).toMatchObject({ revision: 2, document: { network } })
    expect((await mine.put(id, { name, network: { mode: 'listed' } }, 2)).body.environment.document.network).toEqual({
      mode: 'listed',
      hosts: [],
    })
  })

  it('fills in the directory of a repository', async () => {
    const { document } = await mine.make({ github: true, repositories: [{ repository: 'acme/tools' }] })
    expect(document.repositories).toEqual([{ repository: 'acme/tools', path: 'tools' }])
  })

  it('fills in what a check leaves out, and one that says the same is equal', async () => {
    const made = await mine.make({ checks: [{ name: 'test', run: 'npm test', paths: ['src/**'] }] })
    const checks = [
      { name: 'test', run: 'npm test', timeoutSeconds: 600, required: true, quick: false, paths: ['src/**'] },
    ]
    expect(made.document.checks).toEqual(checks)
    expect(outcome(await mine.put(made.id, { name: made.name, checks }, 7))).toBe('200')
  })

  it('that equals the newest one changes nothing, whatever revision was seen', async () => {
    const made = await mine.make(full)
    const { name } = made
    const again = { ...full, variables: { A: '1', B: '2' }, name }
    for (const seen of [undefined, 1, 7]) {
      const { status, body } = await mine.put(made.id, again, seen)
      expect([status, body.environment]).toEqual([200, made])
    }
    expect(outcome(await mine.put(made.id, { ...again, cache: { paths: ['target', '~/.npm'] } }, 7))).toBe(
      '409 environment_conflict',
    )
  })

  it('from before a member was added equals one that says the member is empty', async () => {
    const made = await mine.make({ setup: 'true' })
    const { rows } = await test.db.database.query<{ document: string }>({
      text: 'select document from environment_revisions where environment_id = $1',
      values: [made.id],
    })
    expect(JSON.parse(rows[0]?.document ?? '')).not.toHaveProperty('prebuild')
    expect(JSON.parse(rows[0]?.document ?? '')).not.toHaveProperty('packages')
    const { secrets: _, ...document } = made.document
    expect(document).toMatchObject({ prebuild: false, packages: [] })
    expect((await mine.put(made.id, document, 1)).body.environment).toEqual(made)
    const changed = await mine.put(made.id, { ...document, prebuild: true }, 1)
    expect(changed.body.environment).toMatchObject({ revision: 2, document: { prebuild: true } })
    const restored = await mine.restore(made.id, 1, 2)
    expect(restored.body.environment).toMatchObject({ revision: 3, document: { prebuild: false } })
  })

  it.each<[string, unknown, string]>([
    ['no name', { name: undefined }, 'document.name'],
    ['a name of 65 characters', { name: 'n'.repeat(65) }, 'document.name'],
    ['a name of white space', { name: ' \t ' }, 'document.name'],
    ['a control character in the name', { name: 'a\u0007' }, 'document.name'],
    ['a description of 501 characters', { description: 'd'.repeat(501) }, 'document.description'],
    ['a setup of 65 537 characters', { setup: 's'.repeat(65_537) }, 'document.setup'],
    ['an unknown member', { image: 'x' }, 'document.image'],
    ['a variable that is no name', { variables: { '1A': '' } }, 'document.variables'],
    ['a variable of the platform', { variables: { BERTH_X: '' } }, 'document.variables.BERTH_X'],
    ['the home', { variables: { HOME: '/' } }, 'document.variables.HOME'],
    ['a proxy variable in lower case', { variables: { https_proxy: 'x' } }, 'document.variables.https_proxy'],
    ['U+0000 in a variable', { variables: { A: 'a\0b' } }, 'document.variables.A'],
    ['a variable of 32 769 characters', { variables: { A: 'v'.repeat(32_769) } }, 'document.variables.A'],
    [
      '201 variables',
      { variables: Object.fromEntries(Array.from({ length: 201 }, (_, i) => [`V${i}`, ''])) },
      'document.variables',
    ],
    ['17 cache paths', { cache: { paths: Array.from({ length: 17 }, (_, i) => `p${i}`) } }, 'document.cache.paths'],
    [
      '21 repositories',
      { github: true, repositories: Array.from({ length: 21 }, (_, i) => ({ repository: `a/r${i}` })) },
      'document.repositories',
    ],
    ['65 packages', { packages: Array.from({ length: 65 }, (_, i) => `p${i}`) }, 'document.packages'],
    ['a package twice', { packages: ['jq', 'jq'] }, 'document.packages'],
    ['an option in place of a package', { packages: ['-y'] }, 'document.packages.0'],
    ['a package that apt would remove', { packages: ['jq', 'bash-'] }, 'document.packages.1'],
    ['a package of 101 characters', { packages: ['p'.repeat(101)] }, 'document.packages.0'],
    [
      '17 checks',
      { checks: Array.from({ length: 17 }, (_, i) => ({ name: `c${i}`, run: 'true' })) },
      'document.checks',
    ],
    ['a check without a name', { checks: [{ run: 'true' }] }, 'document.checks.0.name'],
    ['a check of white space', { checks: [{ name: ' ', run: 'true' }] }, 'document.checks.0.name'],
    ['a check that runs nothing', { checks: [{ name: 'a', run: '' }] }, 'document.checks.0.run'],
    [
      'two checks of one name',
      { checks: ['true', 'false'].map(run => ({ name: 'a', run })) },
      'document.checks.1.name',
    ],
    [
      'a check of more than an hour',
      { checks: [{ name: 'a', run: 'true', timeoutSeconds: 3601 }] },
      'document.checks.0.timeoutSeconds',
    ],
    ...['/etc/*', 'a/../../b', '{1..100000}', '*.[jt]s', '!a', 'a\\*', '@(a|b)'].map(
      path =>
        [
          `a check for ${path}`,
          { checks: [{ name: 'a', run: 'true', paths: ['src/**', path] }] },
          'document.checks.0.paths.1',
        ] as [string, unknown, string],
    ),
    ['a preview without a command', { preview: { port: 3000 } }, 'document.preview.command'],
    ['a preview of white space', { preview: { command: ' \n' } }, 'document.preview.command'],
    ['a control character in a preview', { preview: { command: 'a\u001b' } }, 'document.preview.command'],
    ['a preview of 4 097 characters', { preview: { command: 'c'.repeat(4097) } }, 'document.preview.command'],
    ['a port of a preview that is none', { preview: { command: 'c', port: 65_536 } }, 'document.preview.port'],
    ['repositories without github', { repositories: [{ repository: 'a/b' }] }, 'document.repositories'],
    [
      'a repository that is no owner/name',
      { github: true, repositories: [{ repository: 'a/b/c' }] },
      'document.repositories.0.repository',
    ],
    [
      'a directory that is taken in another case',
      { github: true, repositories: [{ repository: 'a/b' }, { repository: 'c/B' }] },
      'document.repositories.1.path',
    ],
    [
      'the directory of the launch repository',
      { github: true, repositories: [{ repository: 'a/Project' }] },
      'document.repositories.0.path',
    ],
    [
      'a default directory that is none',
      { github: true, repositories: [{ repository: 'a/.github' }] },
      'document.repositories.0.path',
    ],
    ['an extension of no catalog', { extensions: [{ catalog: 'nope' }] }, 'document.extensions.0.catalog'],
    [
      'an archive that nobody uploaded',
      { extensions: [{ archive: `sha256:${'0'.repeat(64)}` }] },
      'document.extensions.0.archive',
    ],
    [
      'an entry that is two things',
      { extensions: [{ archive: `sha256:${'0'.repeat(64)}`, catalog: 'a' }] },
      'document.extensions.0',
    ],
    [
      'a cache in the directory of a repository',
      { github: true, repositories: [{ repository: 'o/lib' }], cache: { paths: ['lib/x'] } },
      'document.cache.paths.0',
    ],
    ['a mode of no network', { network: { mode: 'closed' } }, 'document.network.mode'],
    ['hosts without a mode', { network: { hosts: ['example.com'] } }, 'document.network.mode'],
    ['a host in upper case', { network: { mode: 'listed', hosts: ['Example.com'] } }, 'document.network.hosts.0'],
    ['every host', { network: { mode: 'listed', hosts: ['*'] } }, 'document.network.hosts.0'],
    ['every host of a domain', { network: { mode: 'listed', hosts: ['*.com'] } }, 'document.network.hosts.0'],
    ['an address', { network: { mode: 'listed', hosts: ['93.184.216.34'] } }, 'document.network.hosts.0'],
    ['an address of IPv6', { network: { mode: 'listed', hosts: ['[2606:4700::1]'] } }, 'document.network.hosts.0'],
    ['a host with a port', { network: { mode: 'listed', hosts: ['example.com:443'] } }, 'document.network.hosts.0'],
    ['a host of other letters', { network: { mode: 'listed', hosts: ['münchen.de'] } }, 'document.network.hosts.0'],
    ['a private host', { network: { mode: 'ask', hosts: ['db.internal'] } }, 'document.network.hosts.0'],
    ['a host below localhost', { network: { mode: 'ask', hosts: ['*.a.localhost'] } }, 'document.network.hosts.0'],
    ['a host twice', { network: { mode: 'ask', hosts: ['a.org', 'a.org'] } }, 'document.network.hosts'],
    [
      'more than 100 hosts',
      { network: { mode: 'listed', hosts: Array.from({ length: 101 }, (_, i) => `h${i}.example.com`) } },
      'document.network.hosts',
    ],
    ['pins of no secret', { secrets: [{ name: 'A', version: 1 }] }, 'document.secrets'],
    ['more than 256 KiB', { setup: '🦀'.repeat(65_536) }, 'document'],
    ['a document that is none', 5, 'document'],
  ])('is refused for %s', async (_, more, path) => {
    const document = typeof more === 'object' ? { name: fresh(), ...more } : more
    const answer = await test.api.put(`/v1/environments/${randomUUID()}`, { document })
    expect(outcome(answer)).toBe('400 environment_invalid')
    const { issues } = answer.body as unknown as { issues: { path: (string | number)[] }[] }
    expect(issues.map(issue => issue.path.join('.'))).toContain(path)
  })

  it.each([
    '/abs',
    '~',
    '~/',
    'a//b',
    'a/',
    './a',
    'a/../b',
    '~/.berth/sessions',
    'sub/.git',
    '.berth/x',
    '~/.berth',
    '~/.berth-outbox',
    'project',
  ])('is refused for the cache path %s', async path => {
    expect(outcome(await mine.put(randomUUID(), { name: fresh(), cache: { paths: [path] } }))).toBe(
      '400 environment_invalid',
    )
  })

  it.each([[['a', 'a']], [['a', 'a/b']], [['~/.cache/x', '~/.cache']]])(
    'is refused for cache paths %j',
    async paths => {
      const { body } = await mine.put(randomUUID(), { name: fresh(), cache: { paths } })
      expect(body).toMatchObject({
        error: 'environment_invalid',
        issues: [{ path: ['document', 'cache', 'paths', 1] }],
      })
    },
  )

  it('takes what lies exactly at its limits', async () => {
    const variables = Object.fromEntries(Array.from({ length: 200 }, (_, i) => [`V${i}`, '']))
    const paths = [...Array.from({ length: 15 }, (_, i) => `p${i}`), `~/${'c'.repeat(1022)}`]
    const repositories = Array.from({ length: 20 }, (_, i) => ({ repository: `a/r${i}` }))
    const made = await mine.make({
      description: '🦀'.repeat(500),
      setup: 's'.repeat(65_536),
      variables,
      cache: { paths },
      github: true,
      repositories,
    })
    expect(made.revision).toBe(1)
  })

  it('is `invalid_request` where the body is no `{ document }`', async () => {
    const path = `/v1/environments/${randomUUID()}`
    for (const body of [{}, { document: { name: 'a' }, more: 1 }, []])
      expect(outcome(await test.api.put(path, body))).toBe('400 invalid_request')
  })

  it('warns of what is probably not meant, and is taken', async () => {
    const { warnings } = await mine.make({
      setup: `${'true\n'.repeat(21)}true\r\n`,
      variables: { DEPLOY_TOKEN: 'x', OPENAI_BASE_URL: 'y', PLAIN: 'z' },
    })
    expect(warnings.map(({ path }) => path.join('.'))).toEqual([
      'document.variables.DEPLOY_TOKEN',
      'document.variables.OPENAI_BASE_URL',
      'document.setup',
      'document.setup',
    ])
  })
})

describe('a write', () => {
  it('needs the newest revision, and says what it lacks, in order', async () => {
    const { id, name } = await mine.make()
    const changed = { name, setup: 'true' }
    expect(outcome(await mine.put(id, changed))).toBe('428 precondition_required')
    for (const malformed of ['*', 'W/"1"', '"01"', '"1","2"', '1', '"0"', '""'])
      expect(outcome(await mine.put(id, changed, malformed))).toBe('400 invalid_request')
    expect(outcome(await mine.put(randomUUID(), changed, 1))).toBe('404 environment_not_found')
    for (const revision of ['9'.repeat(18), '9'.repeat(19), '9'.repeat(400)])
      expect(outcome(await mine.archive(id, `"${revision}"`))).toBe('409 environment_conflict')
    const stale = await mine.put(id, changed, 2)
    expect(stale.body).toEqual({ error: 'environment_conflict', message: 'the newest revision is 1' })
    expect((await mine.put(id, changed, 1)).body.environment).toMatchObject({ revision: 2, document: changed })
    for (const write of [
      () => mine.archive(id),
      () => mine.unarchive(id),
      () => mine.restore(id, 1),
      () => mine.deleteSecret(id, 'A'),
    ])
      expect(outcome(await write())).toBe('428 precondition_required')
  })

  it('wins alone of ten that have seen the same revision', async () => {
    const { id, name } = await mine.make()
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, i) => mine.put(id, { name, setup: `echo ${i}` }, 1)),
    )
    expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array(9).fill(409)])
    expect((await mine.read(id)).body.environment.revision).toBe(2)
  })

  it.each([
    ['Straße', 'STRASSE', 201],
    ['Größe', 'GRÖSSE', 201],
    ['caf\u00e9', 'CAFE\u0301', 409],
    ['Build', 'bUILD', 409],
  ])('with the names %s and %s answers %i', async (first, second, status) => {
    const { api } = await test.newTenant()
    const theirs = new Environments(api)
    await theirs.put(randomUUID(), { name: first })
    expect((await theirs.put(randomUUID(), { name: second })).status).toBe(status)
  })
})

describe('archiving', () => {
  it('closes an environment but for reads, and can be taken back', async () => {
    const { id, name } = await mine.make()
    const archived = await mine.archive(id, 1)
    expect(archived.body.environment).toMatchObject({ revision: 2, archivedAt: expect.any(String) })
    // A lost answer can be asked for again.
    for (const seen of [1, 2]) expect((await mine.archive(id, seen)).body).toEqual(archived.body)
    expect(outcome(await mine.archive(id, 3))).toBe('409 environment_conflict')
    expect((await mine.read(id)).body).toEqual(archived.body)
    expect(outcome(await mine.put(id, { name, setup: 'true' }, 2))).toBe('409 environment_conflict')
    expect(outcome(await mine.restore(id, 1, 9))).toBe('200')
    expect(outcome(await mine.writeSecret(id, 'A', 'v', 2))).toBe('409 environment_conflict')
    expect(outcome(await mine.choose(id))).toBe('409 environment_conflict')
    expect((await mine.deleteSecret(id, 'A', 2)).status).toBe(200)

    const taken = await mine.put(randomUUID(), { name: name.toUpperCase() })
    expect(outcome(await mine.unarchive(id, 2))).toBe('409 environment_conflict')
    await mine.archive(taken.body.environment.id, 1)
    const live = await mine.unarchive(id, 2)
    expect(live.body.environment).toMatchObject({ revision: 3, archivedAt: null })
    for (const seen of [2, 3]) expect((await mine.unarchive(id, seen)).body).toEqual(live.body)
  })

  it('refuses the default', async () => {
    const { id } = await mine.make()
    await mine.choose(id)
    expect((await mine.archive(id, 2)).body).toMatchObject({
      error: 'environment_conflict',
      message: expect.stringContaining('default'),
    })
    await mine.choose(null)
    expect((await mine.archive(id, 3)).status).toBe(200)
  })
})

describe('revisions', () => {
  it('are listed newest first, and one can be restored', async () => {
    const { id, name } = await mine.make({ setup: 'echo 1' })
    for (const n of [2, 3, 4]) await mine.put(id, { name, setup: `echo ${n}` }, n - 1)
    const list = async (query: string) =>
      (await test.api.get<EnvironmentRevisionPage>(`/v1/environments/${id}/revisions${query}`)).body
    const first = await list('?limit=3')
    expect(first.revisions.map(({ revision, document }) => [revision, document.setup])).toEqual([
      [4, 'echo 4'],
      [3, 'echo 3'],
      [2, 'echo 2'],
    ])
    expect(first.nextBefore).toBe(2)
    const last = await list('?limit=3&before=2')
    expect([last.revisions.map(({ revision }) => revision), last.nextBefore]).toEqual([[1], null])
    expect(outcome(await test.api.get(`/v1/environments/${id}/revisions?limit=51`))).toBe('400 invalid_request')

    const restored = await mine.restore(id, 2, 4)
    expect(restored.body.environment).toMatchObject({ revision: 5, document: { setup: 'echo 2' } })
    expect((await mine.restore(id, 2, 1)).body).toEqual(restored.body)
    expect(outcome(await mine.restore(id, 9, 5))).toBe('404 environment_not_found')
  })
})

describe('the list', () => {
  it('is by name, page by page, without archived environments unless asked', async () => {
    const { api } = await test.newTenant()
    const theirs = new Environments(api)
    for (const name of ['b', 'A', 'd', 'C']) await theirs.put(randomUUID(), { name })
    const names = (page: { environments: readonly { name: string }[] }) => page.environments.map(({ name }) => name)
    const first = (await theirs.list('?limit=3')).body
    expect([names(first), first.hasMore, first.defaultEnvironmentId]).toEqual([['A', 'b', 'C'], true, null])
    const rest = (await theirs.list(`?cursor=${first.nextCursor}`)).body
    expect([names(rest), rest.hasMore]).toEqual([['d'], false])
    await theirs.archive(first.environments[0]?.id ?? '', 1)
    expect(names((await theirs.list()).body)).toEqual(['b', 'C', 'd'])
    expect(names((await theirs.list('?archived=true')).body)).toEqual(['A', 'b', 'C', 'd'])
    expect(names((await theirs.list('?archived=only')).body)).toEqual(['A'])
    const ours = Buffer.from(JSON.stringify(['environments', 'x', 'no id'])).toString('base64url')
    for (const cursor of ['x', ours])
      expect(outcome(await theirs.list(`?cursor=${cursor}`))).toBe('400 invalid_request')
  })
})

describe('another tenant', () => {
  it('finds none of them', async () => {
    const made = await mine.make()
    const { api } = await test.newTenant()
    const theirs = new Environments(api)
    const { id } = made
    for (const call of [
      () => theirs.read(id),
      () => theirs.put(id, { name: 'x' }, 1),
      () => theirs.archive(id, 1),
      () => theirs.unarchive(id, 1),
      () => theirs.restore(id, 1, 1),
      () => theirs.writeSecret(id, 'A', 'v', 1),
      () => theirs.deleteSecret(id, 'A', 1),
      () => theirs.choose(id),
      () => api.get(`/v1/environments/${id}/revisions`),
    ])
      expect(outcome(await call())).toBe('404 environment_not_found')
    expect((await theirs.list('?archived=true')).body.environments).toEqual([])
    expect((await mine.read(id)).body.environment).toEqual(made)
    // The id is theirs to use.
    expect((await theirs.put(id, { name: 'x' })).status).toBe(201)
  })
})

describe('the quota', () => {
  it('lets exactly as many of twenty at once in as fit, and counts live environments alone', async () => {
    const { tenant, api } = await test.newTenant()
    const theirs = new Environments(api)
    const { organizationId } = tenant
    const archived = await theirs.make()
    await theirs.archive(archived.id, 1)
    await test.db.database.query(
      `with made as (
         insert into environments (organization_id, id, name, folded_name, revision)
         select $1, gen_random_uuid(), 'n' || n, 'n' || n, 1 from generate_series(1, 195) n returning id)
       insert into environment_revisions (organization_id, environment_id, revision, document, secrets, created_by_kind,
         created_by_id, created_at)
       select $1, id, 1, '{}', '[]', 'installation', $1, now() from made`,
      [organizationId],
    )
    const answers = await Promise.all(Array.from({ length: 20 }, () => theirs.put(randomUUID(), { name: fresh() })))
    const outcomes = answers.map(outcome).sort()
    expect(outcomes).toEqual([...Array(5).fill('201'), ...Array(15).fill('409 quota_exceeded')])
    expect(outcome(await theirs.unarchive(archived.id, 2))).toBe('409 quota_exceeded')
  })
})

describe('capabilities', () => {
  it('let an installation read with `environments:use`, and write only with `environments:manage`', async () => {
    const { organizationId, appSlug } = test.tenant
    const { apiKey } = await createInstallation(test.db.database, organizationId, appSlug, [
      'svc.cloud.access',
      'svc.cloud.sessions:create',
      'environments:use',
    ])
    const made = await mine.make()
    const reader = new Environments(new Api(test.url, apiKey))
    expect((await reader.read(made.id)).body.environment).toEqual(made)
    const refused = await reader.put(made.id, { name: 'x' }, 1)
    expect(refused.body).toEqual({ error: 'insufficient_scope', requiredScope: 'environments:manage' })
  })
})
