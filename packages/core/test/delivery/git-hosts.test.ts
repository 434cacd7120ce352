import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { MergeStrategy } from '@berth/contract'
import { systemClock } from '@berth/platform/kit/clock.ts'
import { knownSecrets } from '@berth/platform/kit/redactor.ts'
import type { Database, Result, Statement } from '@berth/platform/storage/postgres/database.ts'
import { type Fault, GitHubServer } from '@berth/testing/git/github-server.ts'
import {
  commitTo,
  emptyRepository,
  fileAt,
  firstCommit,
  sampleRepository,
  tipOf,
} from '@berth/testing/git/repositories.ts'
import { createTestDatabase } from '@berth/testing/storage/postgres.ts'
import { toyOf } from '@berth/testing/toy.ts'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { transferOptions } from '../../src/git/git-environment.ts'
import { gitText, runGit } from '../../src/git/run-git.ts'
import type { GitHost, GitHostError, MergePullRequest, RepositoryRef } from '../../src/git-hosts/git-host.ts'
import { GitHubHost } from '../../src/git-hosts/github/github-host.ts'
import { LOCAL_ACCOUNT, LocalHost } from '../../src/git-hosts/local/local-host.ts'

/** One host with two repositories; the sample is first. */
interface Served extends AsyncDisposable {
  readonly host: GitHost
  readonly account: string
  readonly sample: RepositoryRef
  readonly gitDir: string
  /** Adds a repository without a commit, whose HEAD names `trunk`. */
  addEmpty(): Promise<{ readonly ref: RepositoryRef; readonly gitDir: string }>
  rename(): Promise<void>
}

interface ServedLocal extends Served {
  readonly host: LocalHost
  /** Returns the same host in a process where something happens before one of its statements. */
  before(statement: RegExp, happens: () => Promise<unknown>): LocalHost
}

async function serveLocal(): Promise<ServedLocal> {
  await using stack = new AsyncDisposableStack()
  const root = await mkdtemp(join(tmpdir(), 'berth-host-'))
  stack.defer(() => rm(root, { recursive: true }))
  const db = stack.use(await createTestDatabase())
  const hostOn = (database: Database) => new LocalHost(database, systemClock, root, () => 'http://localhost')
  const host = hostOn(db.database)
  const gitDir = await sampleRepository(root)
  await sampleRepository(root, 'sample/second')
  const { repositories } = await host.listRepositories(LOCAL_ACCOUNT, { limit: 10, from: null })
  const sample = { account: LOCAL_ACCOUNT, repositoryId: repositories[0]?.repositoryId ?? '' }
  const opened = stack.move()
  return {
    ...{ host, account: LOCAL_ACCOUNT, sample, gitDir },
    before: (statement, happens) => hostOn(beforeStatement(db.database, statement, happens)),
    addEmpty: async () => {
      const empty = await emptyRepository(root, 'sample/third', 'trunk')
      const ref = await host.findRepository('sample/third')
      return { ref: { account: LOCAL_ACCOUNT, repositoryId: ref?.repositoryId ?? '' }, gitDir: empty }
    },
    rename: async () => {},
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  }
}

function beforeStatement(real: Database, statement: RegExp, happens: () => Promise<unknown>): Database {
  return {
    transaction: (work, options) => real.transaction(work, options),
    query: async <Row>(given: string | Statement, values?: readonly unknown[]): Promise<Result<Row>> => {
      if (statement.test(typeof given === 'string' ? given : given.text)) await happens()
      return values === undefined ? real.query<Row>(given) : real.query<Row>(given, values)
    },
  }
}

async function serveGitHub(): Promise<Served & { server: GitHubServer; host: GitHubHost }> {
  await using stack = new AsyncDisposableStack()
  const root = await mkdtemp(join(tmpdir(), 'berth-host-'))
  stack.defer(() => rm(root, { recursive: true }))
  const server = stack.use(await GitHubServer.start())
  const gitDir = await sampleRepository(root)
  const served = server.addRepository({ id: 11, fullName: 'sample/greeter', gitDir, installations: ['5'] })
  const second = await sampleRepository(root, 'sample/second')
  server.addRepository({ id: 12, fullName: 'sample/second', gitDir: second, installations: ['5'] })
  const host = stack.use(
    new GitHubHost({ appId: server.appId, privateKey: server.privateKey, baseUrl: server.url }, systemClock),
  )
  const opened = stack.move()
  return {
    ...{ host, server, account: '5', sample: { account: '5', repositoryId: '11' }, gitDir },
    addEmpty: async () => {
      const third = { id: 13, fullName: 'other/third', gitDir: await emptyRepository(root, 'other/third', 'trunk') }
      server.addRepository({ ...third, installations: ['6'] }).defaultBranch = 'trunk'
      return { ref: { account: '6', repositoryId: '13' }, gitDir: third.gitDir }
    },
    rename: async () => {
      served.fullName = 'sample/renamed'
    },
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  }
}

/** A host that somebody adds. */
async function serveToy(): Promise<Served> {
  const served: Served = await serveLocal()
  const members = [
    ...([
      'kind',
      'readAccount',
      'listRepositories',
      'readRepository',
      'readBranch',
      'readUnbornBranch',
      'listBranches',
    ] as const),
    ...(['access', 'findOpenPull', 'openPull', 'readPull', 'readChecks', 'mergePull'] as const),
  ]
  return { ...served, host: toyOf(served.host, members, { id: 'toy.example.com' }) }
}

const ada = { GIT_AUTHOR_NAME: 'a', GIT_AUTHOR_EMAIL: 'a@b', GIT_COMMITTER_NAME: 'a', GIT_COMMITTER_EMAIL: 'a@b' }

const fails = (kind: GitHostError['kind'], more: object = {}) =>
  expect.objectContaining({ name: 'GitHostError', kind, ...more })

describe.each([
  ['local', serveLocal],
  ['github', serveGitHub],
  ['toy', serveToy],
])('a Git host: %s', (_, serve) => {
  let served: Served
  let host: GitHost
  let sample: RepositoryRef
  beforeAll(async () => {
    served = await serve()
    ;({ host, sample } = served)
  })
  afterAll(() => served[Symbol.asyncDispose]())

  /** Makes a branch with one commit of its own, and a pull request for it. */
  async function pull(branch: string, files: Record<string, string>, draft = false) {
    const base = await tipOf(served.gitDir, 'main')
    const headOid = await commitTo(served.gitDir, branch, base, files)
    const opened = await host.openPull(sample, {
      title: `Add ${branch}`,
      body: 'Because.',
      head: branch,
      base: 'main',
      draft,
    })
    return { opened, headOid, base }
  }

  test("lists an account's repositories page by page, and reads each by its id", async () => {
    const first = await host.listRepositories(served.account, { limit: 1, from: null })
    expect(first.repositories).toHaveLength(1)
    const second = await host.listRepositories(served.account, { limit: 1, from: first.next })
    expect(second.next).toBeNull()
    const names = [...first.repositories, ...second.repositories].map(one => one.fullName)
    expect(names).toEqual(['sample/greeter', 'sample/second'])
    expect(await host.readRepository(sample)).toMatchObject({ fullName: 'sample/greeter', defaultBranch: 'main' })
    expect(sample.repositoryId).toMatch(/^\d+$/)
  })

  test('returns the current name of an account', async () => {
    expect(await host.readAccount(served.account)).toBe(served.account === LOCAL_ACCOUNT ? 'local' : 'sample')
    for (const account of ['404', '', '../5'])
      await expect(host.readAccount(account)).rejects.toEqual(fails('not_found'))
  })

  test('lists branches by the beginning of their names', async () => {
    const oid = await tipOf(served.gitDir, 'main')
    for (const name of ['topic/a#1', 'topic/b', 'topical']) {
      await runGit(['update-ref', `refs/heads/${name}`, oid], { gitDir: served.gitDir })
    }
    const branches = (prefix: string, limit = 100) => host.listBranches(sample, { prefix, limit })
    expect(await branches('topic/')).toEqual(['topic/a#1', 'topic/b'])
    expect(await branches('topic/a#')).toEqual(['topic/a#1'])
    expect(await branches('topic', 2)).toEqual(['topic/a#1', 'topic/b'])
    expect(await branches('to*')).toEqual([])
    expect(await branches('')).toEqual(expect.arrayContaining(['main', 'topic/b', 'topical']))
    await expect(host.listBranches({ ...sample, repositoryId: '999' }, { prefix: '', limit: 1 })).rejects.toEqual(
      fails('not_found'),
    )
  })

  test('resolves a branch, and names the missing part if it cannot', async () => {
    expect(await host.readBranch(sample, 'main')).toMatchObject({ oid: await tipOf(served.gitDir, 'main') })
    for (const name of ['nowhere', 'main~1', 'main@{0}', '--all', '../../x', 'refs/heads/main', 'v1.0']) {
      await expect(host.readBranch(sample, name)).rejects.toEqual(fails('not_found', { subject: 'branch' }))
    }
    await expect(host.readBranch({ ...sample, repositoryId: '999' }, 'main')).rejects.not.toMatchObject({
      subject: 'branch',
    })
    await expect(host.readRepository({ ...sample, repositoryId: '999' })).rejects.toEqual(fails('not_found'))
    await expect(host.readRepository({ ...sample, account: '404' })).rejects.toEqual(fails('not_found'))
  })

  test('tells a repository without a commit from one whose branch is missing', async () => {
    const { ref, gitDir } = await served.addEmpty()
    expect(await host.readRepository(ref)).toMatchObject({ defaultBranch: 'trunk' })
    await expect(host.readBranch(ref, 'trunk')).rejects.toEqual(fails('not_found', { subject: 'branch' }))
    expect(await host.readUnbornBranch(ref, 'trunk')).toEqual({ protected: false, objectFormat: 'sha1' })
    for (const prefix of ['', 'tr', 'a/']) expect(await host.listBranches(ref, { prefix, limit: 1 })).toEqual([])
    await firstCommit(gitDir, 'other', 'README')
    expect(await host.readUnbornBranch(ref, 'trunk')).toBeNull()
    expect(await host.readUnbornBranch(sample, 'nowhere')).toBeNull()
    await expect(host.readUnbornBranch({ ...sample, repositoryId: '999' }, 'main')).rejects.toEqual(fails('not_found'))
    await rm(gitDir, { recursive: true })
  })

  test('provides git with the access to fetch and to push', async () => {
    const clone = `${served.gitDir}.clone`
    await runGit(['init', '--bare', '--quiet', clone])
    const read = await host.access(sample, 'read')
    const fetch = ['fetch', '--quiet', ...transferOptions('fetch', read), read.url, 'refs/heads/*:refs/heads/*']
    await runGit(fetch, { gitDir: clone, remote: read })
    const oid = await commitTo(clone, 'pushed', await tipOf(clone, 'main'), { pushed: 'yes' })
    const write = await host.access(sample, 'write')
    const push = ['push', '--quiet', ...transferOptions('push', write), write.url, 'refs/heads/pushed']
    await runGit(push, { gitDir: clone, remote: write })
    expect(await tipOf(served.gitDir, 'pushed')).toBe(oid)
    expect(write.url).not.toContain('@')
    await rm(clone, { recursive: true })
  })

  test('opens one pull request for two branches and finds it again', async () => {
    const { opened, headOid } = await pull('once', { once: '1' })
    expect(opened).toMatchObject({ state: 'open', draft: false, headOid, headBranch: 'once', baseBranch: 'main' })
    const again = host.openPull(sample, { title: 'x', body: '', head: 'once', base: 'main', draft: false })
    await expect(again).rejects.toEqual(fails('conflict'))
    expect(await host.findOpenPull(sample, { head: 'once', base: 'main' })).toMatchObject({ number: opened.number })
    expect(await host.findOpenPull(sample, { head: 'never', base: 'main' })).toBeNull()
    await expect(host.readPull(sample, 999)).rejects.toEqual(fails('not_found', { subject: 'pull' }))
    const nothing = host.openPull(sample, { title: 'x', body: '', head: 'never', base: 'main', draft: false })
    await expect(nothing).rejects.toEqual(fails('invalid'))
  })

  test.each<[MergeStrategy, number, string]>([
    ['merge', 2, 'Title of mine'],
    ['squash', 1, 'Title of mine'],
    ['rebase', 1, 'change with-rebase'],
  ])('merges by %s, at the exact head, with our message', async (strategy, parents, subject) => {
    const { opened, headOid, base } = await pull(`with-${strategy}`, { [strategy]: 'merged' })
    const order = {
      number: opened.number,
      strategy,
      commitTitle: 'Title of mine',
      commitMessage: 'Line one\n\nLine two',
    }
    await expect(host.mergePull(sample, { ...order, expectedHeadOid: base })).rejects.toEqual(fails('head_moved'))
    const { mergeCommitOid } = await host.mergePull(sample, { ...order, expectedHeadOid: headOid })
    expect(await tipOf(served.gitDir, 'main')).toBe(mergeCommitOid)
    const shown = await gitText(['show', '--no-patch', '--format=%P%n%B', mergeCommitOid], { gitDir: served.gitDir })
    expect(shown.split('\n')[0]?.split(' ')).toHaveLength(parents)
    expect(shown.split('\n')[1]).toBe(subject)
    if (strategy !== 'rebase') expect(shown).toContain('Line one\n\nLine two')
    expect(await fileAt(served.gitDir, mergeCommitOid, strategy)).toBe('merged')
    expect(await host.readPull(sample, opened.number)).toMatchObject({ state: 'merged', mergeCommitOid })
    const again = host.mergePull(sample, { ...order, expectedHeadOid: headOid })
    await expect(again).rejects.toEqual(fails('not_mergeable'))
  })

  test('refuses to merge a conflict or a draft', async () => {
    const { opened, headOid, base } = await pull('clash', { 'README.md': 'mine' })
    await commitTo(served.gitDir, 'main', base, { 'README.md': 'theirs' })
    expect(await host.readPull(sample, opened.number)).toMatchObject({ mergeable: 'no', blockers: ['conflict'] })
    const order = { number: opened.number, strategy: 'rebase', expectedHeadOid: headOid } as const
    await expect(host.mergePull(sample, order)).rejects.toEqual(fails('not_mergeable'))
    const draft = await pull('draft', { draft: '1' }, true)
    expect(await host.readPull(sample, draft.opened.number)).toMatchObject({ mergeable: 'no', blockers: ['draft'] })
    const early = { number: draft.opened.number, strategy: 'merge', expectedHeadOid: draft.headOid } as const
    await expect(host.mergePull(sample, early)).rejects.toEqual(fails('not_mergeable'))
  })

  test('refuses to merge into a base whose history was replaced', async () => {
    const { opened, headOid, base } = await pull('old', { old: '1' })
    const { gitDir } = served
    const other = await commitTo(gitDir, 'main', base, { other: '1' })
    const orphan = await gitText(['commit-tree', '-m', 'anew', `${other}^{tree}`], { gitDir, env: ada })
    await runGit(['update-ref', 'refs/heads/main', orphan], { gitDir })
    for (const strategy of ['merge', 'squash', 'rebase'] as const) {
      const order = { number: opened.number, strategy, expectedHeadOid: headOid }
      await expect(host.mergePull(sample, order)).rejects.toEqual(fails('not_mergeable'))
    }
    const order = { title: 't', body: '', head: 'old-too', base: 'main', draft: false }
    await runGit(['update-ref', 'refs/heads/old-too', headOid], { gitDir })
    await expect(host.openPull(sample, order)).rejects.toEqual(fails('invalid'))
    await runGit(['update-ref', 'refs/heads/main', base], { gitDir })
  })

  test('finds a repository by its id after a rename', async () => {
    await served.rename()
    expect(await host.readBranch(sample, 'main')).toMatchObject({ name: 'main' })
    const read = await host.access(sample, 'read')
    await runGit(['ls-remote', read.url], { remote: read })
  })
})

/** A time of a host whose clock shows another year, in seconds since the epoch. */
const OFF_SECONDS = Date.parse('2020-03-01T12:00:00Z') / 1000
const offAt = (seconds: number) => new Date((OFF_SECONDS + seconds) * 1000).toUTCString()

describe('the local host', () => {
  test('holds a pull request back until its checks have passed', async () => {
    await using served = await serveLocal()
    const { sample, gitDir } = served
    const host = served.host as LocalHost
    const headOid = await commitTo(gitDir, 'checked', await tipOf(gitDir, 'main'), { checked: '1' })
    await host.setRule(sample, 'main', { requiredChecks: ['tests'] })
    expect(await host.readBranch(sample, 'main')).toMatchObject({ protected: true })
    expect(await host.readBranch(sample, 'checked')).toMatchObject({ protected: false })
    const { number } = await host.openPull(sample, {
      title: 't',
      body: '',
      head: 'checked',
      base: 'main',
      draft: false,
    })
    const order = { number, strategy: 'squash', expectedHeadOid: headOid } as const
    for (const state of [null, 'pending', 'failure'] as const) {
      if (state !== null) await host.recordCheck(sample, { oid: headOid, name: 'tests', state })
      expect(await host.readPull(sample, number)).toMatchObject({ mergeable: 'no', blockers: ['checks'] })
      await expect(host.mergePull(sample, order)).rejects.toEqual(fails('not_mergeable'))
    }
    await host.recordCheck(sample, { oid: headOid, name: 'tests', state: 'success' })
    await host.mergePull(sample, order)
  })

  test('merges a pull request once, even if a merge dies between branch and record or somebody else merges it', async () => {
    await using served = await serveLocal()
    const { sample, gitDir } = served
    const main = await tipOf(gitDir, 'main')
    const expectedHeadOid = await commitTo(gitDir, 'once', main, { once: '1' })
    const opened = { title: 'once', body: '', head: 'once', base: 'main', draft: false }
    const { number } = await served.host.openPull(sample, opened)
    const order = { number, strategy: 'squash', expectedHeadOid } as const
    const dying = served.before(/^update local_pulls set state/, () => Promise.reject(new Error('struck')))
    await expect(dying.mergePull(sample, order)).rejects.toThrow('struck')
    const merged = await tipOf(gitDir, 'main')
    expect(merged).not.toBe(main)
    // The state that an earlier, interrupted merge and a branch that has moved on leave behind.
    await commitTo(gitDir, 'once', expectedHeadOid, { more: '1' })
    await expect(served.host.mergePull(sample, { ...order, strategy: 'merge' })).rejects.toEqual(fails('not_mergeable'))
    expect(await served.host.readPull(sample, number)).toMatchObject({
      ...{ state: 'merged', mergeCommitOid: merged, headOid: expectedHeadOid },
    })
    expect(await tipOf(gitDir, 'main')).toBe(merged)
  })

  test('keeps the bytes of authors and messages in a rebase', async () => {
    await using served = await serveLocal()
    const { sample, gitDir, host } = served
    const main = await tipOf(gitDir, 'main')
    const plain = await commitTo(gitDir, 'bytes', main, { bytes: '1' })
    await commitTo(gitDir, 'main', main, { main: '1' })
    const author = 'author Andr\xe9 <andr\xe9@example.com> 1700000000 +0130'
    const named = `${author}\ncommitter C <c@d> 1700000000 +0000\n`
    const bodies = [`${named}\nCaf\xe9\n\nEnd\xa0\n\n`, `${named}encoding ISO-8859-1\n\nTh\xe9 without an end`]
    let head = main
    for (const body of bodies) {
      const tree = await gitText(['rev-parse', `${plain}^{tree}`], { gitDir })
      const input = Buffer.from(`tree ${tree}\nparent ${head}\n${body}`, 'latin1')
      head = await gitText(['hash-object', '-t', 'commit', '-w', '--stdin'], { gitDir, input })
    }
    await runGit(['update-ref', 'refs/heads/bytes', head], { gitDir })
    const opened = { title: 't', body: '', head: 'bytes', base: 'main', draft: false }
    const { number } = await host.openPull(sample, opened)
    const { mergeCommitOid } = await host.mergePull(sample, { number, strategy: 'rebase', expectedHeadOid: head })
    const rebased = [`${mergeCommitOid}^`, mergeCommitOid].map(async oid => {
      const { stdout } = await runGit(['cat-file', 'commit', oid], { gitDir })
      return stdout
        .toString('latin1')
        .replace(/^tree .*\nparent .*\n/, '')
        .replace(/^committer .*$/m, 'committer C <c@d> 1700000000 +0000')
    })
    expect(await Promise.all(rebased)).toEqual(bodies)
    await runGit(['fsck', '--strict'], { gitDir })
  })

  test('lists no branch whose name is not UTF-8', async () => {
    await using served = await serveLocal()
    const { sample, gitDir, host } = served
    const created = ['caf\xe9', 'caf\xc3\xa9'].map(name => `create refs/heads/${name} refs/heads/main\n`)
    await runGit(['update-ref', '--stdin'], { gitDir, input: Buffer.from(created.join(''), 'latin1') })
    expect(await host.listBranches(sample, { prefix: 'caf', limit: 9 })).toEqual(['café'])
  })

  test('recognises a merge made by hand with git, and tells it from other changes of the base', async () => {
    await using served = await serveLocal()
    const { host, gitDir, sample } = served
    const open = async (branch: string) => {
      const head = await commitTo(gitDir, branch, await tipOf(gitDir, 'main'), { [branch]: 'x' })
      const { number } = await host.openPull(sample, { title: 't', body: '', head: branch, base: 'main', draft: false })
      return { head, number }
    }
    const byHand = await open('by-hand')
    const main = await tipOf(gitDir, 'main')
    const commit = ['commit-tree', '-m', 'by hand', '-p', main, '-p', byHand.head, `${byHand.head}^{tree}`]
    const mergeCommitOid = await gitText(commit, { gitDir, env: ada })
    await runGit(['update-ref', 'refs/heads/main', mergeCommitOid], { gitDir })
    await commitTo(gitDir, 'main', mergeCommitOid, { later: 'x' })
    await runGit(['update-ref', '-d', 'refs/heads/by-hand'], { gitDir })
    const merged = { state: 'merged', headOid: byHand.head, mergeCommitOid }
    expect(await host.readPull(sample, byHand.number)).toMatchObject(merged)

    const forward = await open('forward')
    await commitTo(gitDir, 'main', forward.head, { later: 'y' })
    const found = await host.findOpenPull(sample, { head: 'forward', base: 'main' })
    expect([found, await host.readPull(sample, forward.number)]).toMatchObject([
      null,
      { state: 'merged', mergeCommitOid: forward.head },
    ])
    const again = { title: 't', body: '', head: 'forward', base: 'main', draft: false }
    await expect(host.openPull(sample, again)).rejects.toEqual(fails('invalid'))

    const reset = await open('reset')
    await runGit(['update-ref', 'refs/heads/reset', await tipOf(gitDir, 'main')], { gitDir })
    expect(await host.readPull(sample, reset.number)).toMatchObject({ state: 'open' })
    const moved = await commitTo(gitDir, 'reset', reset.head, { more: 'x' })
    expect(await host.readPull(sample, reset.number)).toMatchObject({ state: 'open', headOid: moved })
    await runGit(['update-ref', '-d', 'refs/heads/reset'], { gitDir })
    expect(await host.readPull(sample, reset.number)).toMatchObject({ state: 'closed', headOid: moved })
  })

  test('refuses a head that moves while it is merged', async () => {
    await using served = await serveLocal()
    const { sample, gitDir } = served
    const main = await tipOf(gitDir, 'main')
    const expectedHeadOid = await commitTo(gitDir, 'moving', main, { moving: '1' })
    const opened = { title: 'moving', body: '', head: 'moving', base: 'main', draft: false }
    const { number } = await served.host.openPull(sample, opened)
    const raced = served.before(/^update local_pulls set merge_intents/, () =>
      commitTo(gitDir, 'moving', expectedHeadOid, { moving: '2' }),
    )
    const order = { number, strategy: 'merge', expectedHeadOid } as const
    await expect(raced.mergePull(sample, order)).rejects.toEqual(fails('head_moved'))
    expect(await tipOf(gitDir, 'main')).toBe(main)
  })

  test('accepts one of two concurrent merges, and both of two pull requests', async () => {
    await using served = await serveLocal()
    const { sample, gitDir, host } = served
    const main = await tipOf(gitDir, 'main')
    const orders: MergePullRequest[] = []
    for (const branch of ['one', 'two']) {
      const expectedHeadOid = await commitTo(gitDir, branch, main, { [branch]: '1' })
      const { number } = await host.openPull(sample, {
        title: branch,
        body: '',
        head: branch,
        base: 'main',
        draft: false,
      })
      orders.push({ number, strategy: 'merge', expectedHeadOid })
    }
    const both = await Promise.allSettled(
      [...orders, ...orders.slice(0, 1), ...orders].map(order => host.mergePull(sample, order)),
    )
    expect(both.filter(({ status }) => status === 'fulfilled').length).toBeGreaterThanOrEqual(2)
    const tip = await tipOf(gitDir, 'main')
    expect([await fileAt(gitDir, tip, 'one'), await fileAt(gitDir, tip, 'two')]).toEqual(['1', '1'])
    expect(await gitText(['rev-list', '--count', '--merges', `${main}..${tip}`], { gitDir })).toBe('2')
  })
})

describe('the github host', () => {
  let served: Awaited<ReturnType<typeof serveGitHub>>
  beforeAll(async () => {
    served = await serveGitHub()
  })
  afterAll(() => served[Symbol.asyncDispose]())

  test.each<[Fault['answer'], GitHostError['kind'], number | undefined]>([
    [{ status: 401 }, 'unauthorized', undefined],
    [{ status: 403 }, 'forbidden', undefined],
    [{ status: 403, headers: { 'x-ratelimit-remaining': '0' } }, 'rate_limited', undefined],
    [{ status: 403, headers: { 'retry-after': '7' } }, 'rate_limited', 7000],
    [{ status: 404 }, 'not_found', undefined],
    [{ status: 409 }, 'conflict', undefined],
    [{ status: 422 }, 'invalid', undefined],
    [{ status: 429, headers: { 'retry-after': '3' } }, 'rate_limited', 3000],
    // By a clock of its own, which is far off from ours.
    [{ status: 429, headers: { date: offAt(0), 'retry-after': offAt(9) } }, 'rate_limited', 9000],
    [
      {
        status: 403,
        headers: { date: offAt(0), 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': String(OFF_SECONDS + 11) },
      },
      'rate_limited',
      11_000,
    ],
    [{ status: 500 }, 'unavailable', undefined],
    [{ status: 503, headers: { 'retry-after': '2' } }, 'unavailable', 2000],
    [{ status: 403, body: { message: 'You have exceeded a secondary rate limit.' } }, 'rate_limited', undefined],
    [{ status: 405, body: { message: 'Squash merges are not allowed on this repository.' } }, 'invalid', undefined],
    [{ status: 405, body: { message: 'Pull Request is not mergeable' } }, 'not_mergeable', undefined],
    [{ status: 200, body: 'of something in between' }, 'unavailable', undefined],
    ['cut', 'unavailable', undefined],
    ['half', 'unavailable', undefined],
  ])('answers %j as %s', async (answer, kind, retryAfterMs) => {
    served.server.fail({ when: /^GET \/repositories\/11$/, answer })
    const error = await served.host.readRepository(served.sample).catch(caught => caught)
    served.server.mend()
    expect(error).toEqual(fails(kind, { retryAfterMs }))
  })

  test('sends git and its token only to the host itself', async () => {
    const { server, host, sample } = served
    const { port } = new URL(server.url)
    const elsewhere = [
      served.gitDir,
      `/${sample.repositoryId}.git`,
      `file://${served.gitDir}`,
      `ssh://git@127.0.0.1:${port}/sample/greeter.git`,
      `git@127.0.0.1:sample/greeter.git`,
      `https://127.0.0.1:${port}/sample/greeter.git`,
      `http://127.0.0.1:${port}0/sample/greeter.git`,
      `http://127.0.0.1/sample/greeter.git`,
      `http://127.0.0.1:${port}@example.test/sample/greeter.git`,
      `http://user@127.0.0.1:${port}/sample/greeter.git`,
      `http://user:password@127.0.0.1:${port}/sample/greeter.git`,
      `http://127.0.0.1:${port}/sample/../../greeter.git`,
      `http://127.0.0.1:${port}/sample/greeter.git?to=elsewhere`,
      `http://127.0.0.1:${port}/sample/gre\neter.git`,
      `HTTP://127.0.0.1:${port}/sample/greeter.git`,
      '--upload-pack=touch /tmp/no',
      '',
      null,
    ]
    for (const clone_url of elsewhere) {
      const body = { id: 11, full_name: 'sample/greeter', default_branch: 'main', html_url: server.url, clone_url }
      server.fail({ when: /^GET \/repositories\/11$/, answer: { status: 200, body } })
      const refused = fails('invalid', { message: expect.stringContaining(`is not below ${server.url}`) })
      await expect(host.access(sample, 'read'), String(clone_url)).rejects.toEqual(refused)
      await expect(host.readRepository(sample), String(clone_url)).rejects.toEqual(refused)
      server.mend()
    }
    expect((await host.access(sample, 'read')).url).toBe(`${server.url}/sample/greeter.git`)
  })

  test('gives up on a host that never answers', async () => {
    const { server, sample } = served
    const app = { appId: server.appId, privateKey: server.privateKey, baseUrl: server.url }
    using impatient = new GitHubHost(app, systemClock, 100)
    server.fail({ when: /^GET \/repositories\/11$|access_tokens/, answer: 'never' })
    await expect(served.host.readRepository(sample, AbortSignal.timeout(100))).rejects.toThrow('timeout')
    await expect(impatient.readRepository(sample)).rejects.toEqual(fails('unavailable'))
    server.mend()
  })

  test('requests a token once while it is valid, again shortly before it expires, and when it is refused', async () => {
    let now = Date.now()
    const clock = { now: () => new Date(now) }
    const { server, sample } = served
    using host = new GitHubHost({ appId: server.appId, privateKey: server.privateKey, baseUrl: server.url }, clock)
    const minted = () => server.requests.filter(line => line.endsWith('/access_tokens')).length
    const before = minted()
    await Promise.all([1, 2, 3].map(() => host.readRepository(sample)))
    expect(minted() - before).toBe(1)
    now += 54 * 60_000
    await host.readRepository(sample)
    expect(minted() - before).toBe(1)
    now += 2 * 60_000
    await host.readRepository(sample)
    expect(minted() - before).toBe(2)
    server.revokeTokens()
    await host.readRepository(sample)
    expect(minted() - before).toBe(3)
  })

  test('gives git a token for only its one repository and right', async () => {
    const { server, host, sample } = served
    const other = await host.access({ ...sample, repositoryId: '12' }, 'read')
    const read = await host.access(sample, 'read')
    for (const leak of [`${read.authorization}`, `extraHeader=Authorization: ${read.authorization}`]) {
      expect(knownSecrets.text(leak)).toMatch(/Basic \[secret\]$/)
    }
    const elsewhere = { url: other.url, authorization: read.authorization ?? '' }
    await expect(runGit(['ls-remote', other.url], { remote: elsewhere })).rejects.toThrow(/404|not found/i)
    const clone = `${served.gitDir}.token`
    await runGit(['init', '--bare', '--quiet', clone])
    await runGit(['fetch', '--quiet', read.url, 'main'], { gitDir: clone, remote: read })
    await expect(
      runGit(['push', read.url, 'FETCH_HEAD:refs/heads/no'], { gitDir: clone, remote: read }),
    ).rejects.toThrow('403')
    expect(server.gitBytes).toBeGreaterThan(0)
  })
})
