import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '@berth/platform/kit/clock.ts'
import { type Fault, GitHubServer, type ServedPull, type ServedRepository } from '@berth/testing/git/github-server.ts'
import { commitTo, sampleRepository, tipOf } from '@berth/testing/git/repositories.ts'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { runGit } from '../../src/git/run-git.ts'
import type { GitHostError, RepositoryRef } from '../../src/git-hosts/git-host.ts'
import { GitHubHost } from '../../src/git-hosts/github/github-host.ts'
import type { FollowedCheck, Observation } from '../../src/git-hosts/host-following.ts'

const NUMBER = 1
const ref: RepositoryRef = { account: '5', repositoryId: '11' }

let stack: AsyncDisposableStack
let server: GitHubServer
let repository: ServedRepository
let host: GitHubHost
let pull: ServedPull
let gitDir: string
let head: string

beforeEach(async () => {
  stack = new AsyncDisposableStack()
  const root = await mkdtemp(join(tmpdir(), 'berth-following-'))
  stack.defer(() => rm(root, { recursive: true }))
  server = stack.use(await GitHubServer.start())
  gitDir = await sampleRepository(root)
  repository = server.addRepository({ id: 11, fullName: 'sample/greeter', gitDir, installations: ['5'] })
  async function* readLog(url: string, signal: AbortSignal) {
    yield* (await fetch(url, { signal })).body ?? []
  }
  const app = { appId: server.appId, privateKey: server.privateKey, baseUrl: server.url, readLog }
  host = stack.use(new GitHubHost(app, systemClock))
  head = await commitTo(gitDir, 'work', await tipOf(gitDir, 'main'), { 'work.txt': 'one' })
  await host.openPull(ref, { title: 'Work', body: '', head: 'work', base: 'main', draft: false })
  pull = server.pulls[0] as ServedPull
})
afterEach(() => stack.disposeAsync())

const observe = (since: string | null = null) => host.following.observe(ref, NUMBER, since)

async function seen(since: string | null = null): Promise<Observation> {
  const found = await observe(since)
  if (found === null) throw new Error('nothing was seen to change')
  return found
}

const fails = (kind: GitHostError['kind'], more: object = {}) =>
  expect.objectContaining({ name: 'GitHostError', kind, ...more })

const check = (name: string, more: Partial<FollowedCheck> = {}) => expect.objectContaining({ name, ...more })

describe('a pull request of GitHub that is followed', () => {
  test('is told with its base, labels and assignees', async () => {
    Object.assign(pull, { labels: ['berth'], assignees: ['ann'], locked: true })
    expect(await observe()).toMatchObject({
      pull: { number: NUMBER, headOid: head, state: 'open', mergeable: 'yes' },
      baseOid: await tipOf(gitDir, 'main'),
      ...{ branchDeleted: false, locked: true, labels: ['berth'], assignees: ['ann'] },
      ...{ checks: [], reviews: [], comments: [] },
    })
  })

  test('costs only answers without a body while nothing changes', async () => {
    server.reviews.review(11, NUMBER, { comments: [{ path: 'work.txt', body: 'No.' }] })
    server.actions.run(11, head, 'tests')
    const { cursor } = await seen()
    expect(Buffer.byteLength(cursor)).toBeLessThan(16_384)
    const before = server.requests.length
    expect(await observe(cursor)).toBeNull()
    expect(server.requests.length - before).toBe(8)
    expect(server.notModified).toHaveLength(8)
  })

  test.each<[string, () => unknown]>([
    ['a push by somebody', () => commitTo(gitDir, 'work', head, { 'work.txt': 'two' })],
    ['a force push', async () => commitTo(gitDir, 'work', await tipOf(gitDir, 'main'), { 'work.txt': 'other' })],
    ['a base that moves', async () => commitTo(gitDir, 'main', await tipOf(gitDir, 'main'), { 'new.txt': 'n' })],
    ['a check that begins', () => server.actions.run(11, head, 'lint')],
    ['a check that ends', () => server.actions.finish({ id: 90_000 }, { conclusion: 'failure' })],
    ['a status', () => server.checks.statuses.set('ci', { state: 'pending', target_url: null })],
    ['a required check', () => server.checks.byRules.push('audit')],
    ['a protected check', () => server.checks.byProtection.push('audit')],
    ['a review', () => server.reviews.review(11, NUMBER)],
    ['a dismissal', () => Object.assign(server.reviews.reviews[0] ?? {}, { state: 'DISMISSED' })],
    ['a comment on a line', () => server.reviews.comment(11, NUMBER, { path: 'work.txt', body: 'Why?' })],
    ['a comment', () => server.talk.comment(11, NUMBER, '@berth stop')],
    ['a label', () => Object.assign(pull, { labels: ['berth'] })],
    ['an assignee', () => Object.assign(pull, { assignees: ['ann'] })],
    ['a lock', () => Object.assign(pull, { locked: true })],
    ['a close', () => Object.assign(pull, { state: 'closed' })],
    ['checks that are shown no more', () => Object.assign(server.checks, { mayRead: false })],
  ])('is seen to change by %s', async (_, happens) => {
    server.actions.run(11, head, 'tests')
    server.reviews.review(11, NUMBER, { state: 'APPROVED' })
    const { cursor } = await seen()
    await happens()
    const { cursor: next } = await seen(cursor)
    expect(await observe(next)).toBeNull()
  })

  test('has the checks of exactly its head, with those that nobody has reported', async () => {
    server.checks.byProtection = ['audit', 'tests']
    server.actions.run(11, await tipOf(gitDir, 'main'), 'tests', { conclusion: 'failure' })
    const output = { title: '1 failed', summary: 'greet() is wrong' }
    server.actions.run(11, head, 'tests', { conclusion: 'timed_out', output })
    server.actions.run(11, head, 'slow')
    server.checks.statuses.set('ci', { state: 'error', target_url: null })
    const { checks } = await seen()
    expect(checks).toEqual([
      check('ci', { state: 'failure', conclusion: 'error', required: false }),
      check('tests', {
        ...{ id: 'run:90001', state: 'failure', conclusion: 'timed_out', required: true },
        ...{ summary: '1 failed\n\ngreet() is wrong', completedAt: new Date('2026-11-29T12:00:00Z') },
      }),
      check('slow', { state: 'pending', conclusion: null, completedAt: null }),
      check('audit', { id: null, state: 'missing', required: true }),
    ])
  })

  test('leaves out the reports of Berth, unless the branch requires them', async () => {
    const app = { id: Number(server.appId), slug: 'berth' }
    server.actions.run(11, head, 'Berth', { conclusion: 'failure', app })
    server.actions.run(11, head, 'Other', { conclusion: 'failure', externalId: 'berth:report:1' })
    expect((await seen()).checks).toEqual([])
    server.checks.byRules = ['Berth']
    expect((await seen()).checks).toEqual([check('Berth', { state: 'failure', required: true })])
  })

  test('hides checks that the App may not read, and is told all the same', async () => {
    server.checks.mayRead = false
    const { checks, cursor } = await seen()
    expect(checks).toBeNull()
    expect(await observe(cursor)).toBeNull()
  })

  test('has reviews with their comments, and single comments apart', async () => {
    const { id } = server.reviews.review(11, NUMBER, {
      ...{ by: 'bob', body: 'Not yet.' },
      comments: [
        { path: 'work.txt', line: 3, body: 'Wrong.' },
        { path: 'gone.txt', line: null, body: 'Also.' },
      ],
    })
    server.reviews.review(11, NUMBER, { state: 'APPROVED', body: '' })
    server.reviews.review(11, NUMBER, { state: 'DISMISSED', comments: [{ path: 'work.txt', body: 'Never mind.' }] })
    const single = server.reviews.comment(11, NUMBER, { path: 'work.txt', line: 1, body: 'Why?', by: 'eve' })
    server.reviews.comment(11, NUMBER, { path: 'work.txt', body: 'So.', by: 'lint[bot]', type: 'Bot', to: single.id })
    server.talk.comment(11, NUMBER, 'And the docs?', 'ann')
    const { reviews, comments } = await seen()
    expect(reviews).toEqual([
      expect.objectContaining({
        ...{ id: String(id), state: 'changes_requested', body: 'Not yet.', isBot: false, isOurs: false },
        author: { id: expect.stringMatching(/^\d+$/), login: 'bob' },
        comments: [
          expect.objectContaining({ path: 'work.txt', line: 3, body: 'Wrong.' }),
          expect.objectContaining({ path: 'gone.txt', line: null, body: 'Also.' }),
        ],
      }),
      expect.objectContaining({ state: 'approved', comments: [] }),
    ])
    const threadId = String(single.id)
    expect(comments).toEqual([
      expect.objectContaining({ path: 'work.txt', line: 1, body: 'Why?', threadId, isBot: false }),
      expect.objectContaining({ body: 'So.', threadId, isBot: true, isOurs: false }),
      expect.objectContaining({ path: null, line: null, threadId: null, body: 'And the docs?' }),
    ])
  })

  test('knows its own words from those of other bots', async () => {
    await host.following.addComment(ref, NUMBER, 'Ours.')
    const { id } = server.reviews.comment(11, NUMBER, { path: 'work.txt', body: 'Why?' })
    await host.following.reply(ref, NUMBER, { threadId: String(id) }, 'Because.')
    server.talk.comment(11, NUMBER, 'Ours.', 'other[bot]', 'Bot')
    server.talk.comment(11, NUMBER, 'Ours.', 'berth[bot]')
    const expected = (await seen()).comments.map(({ body, isBot, isOurs }) => [body, isBot, isOurs])
    expect(expected).toEqual([
      ['Ours.', true, true],
      ['Why?', false, false],
      ['Because.', true, true],
      ['Ours.', true, false],
      ['Ours.', false, false],
    ])
  })

  test('gives the latest of very many comments, and sees the next one', async () => {
    for (let at = 1; at <= 640; at++) server.talk.comment(11, NUMBER, `comment ${at}`)
    const { comments, cursor } = await seen()
    expect(comments.map(({ body }) => body)).toEqual(Array.from({ length: 240 }, (_, at) => `comment ${at + 401}`))
    expect(await observe(cursor)).toBeNull()
    for (let at = 641; at <= 701; at++) server.talk.comment(11, NUMBER, `comment ${at}`)
    const next = await seen(cursor)
    expect(next.comments.at(-1)?.body).toBe('comment 701')
    expect(await observe(next.cursor)).toBeNull()
    server.talk.comment(11, NUMBER, 'the last word')
    expect((await seen(next.cursor)).comments.at(-1)?.body).toBe('the last word')
  })

  test('says unknown for as long as the host does not know whether it could merge', async () => {
    pull.undecided = true
    const { pull: expected, cursor } = await seen()
    expect(expected).toMatchObject({ mergeable: 'unknown', blockers: [] })
    expect(await observe(cursor)).toBeNull()
    pull.undecided = false
    expect((await seen(cursor)).pull.mergeable).toBe('yes')
  })

  test('tells a conflict with the base', async () => {
    const { cursor } = await seen()
    const oid = await commitTo(gitDir, 'main', await tipOf(gitDir, 'main'), { 'work.txt': 'theirs' })
    expect(await seen(cursor)).toMatchObject({ pull: { mergeable: 'no', blockers: ['conflict'] }, baseOid: oid })
  })

  test('tells a deleted branch from a closed pull request, and a base that is gone', async () => {
    pull.state = 'closed'
    expect(await seen()).toMatchObject({ pull: { state: 'closed' }, branchDeleted: false })
    await server.deleteBranch(repository, 'work')
    expect(await seen()).toMatchObject({ pull: { state: 'closed' }, branchDeleted: true })
    await runGit(['update-ref', '-d', 'refs/heads/main'], { gitDir })
    expect((await seen()).baseOid).toBeNull()
  })

  test('says that it was merged', async () => {
    const merge = { number: NUMBER, strategy: 'merge' as const, expectedHeadOid: head }
    const { mergeCommitOid } = await host.mergePull(ref, merge)
    expect(await seen()).toMatchObject({ pull: { state: 'merged', mergeCommitOid }, branchDeleted: false })
  })

  test('begins anew from a cursor of nobody', async () => {
    for (const cursor of ['', '{', '[]', '7', '[["pulls/1"]]']) expect(await observe(cursor)).not.toBeNull()
  })

  test.each<[Fault['answer'], GitHostError['kind']]>([
    [{ status: 403 }, 'forbidden'],
    [{ status: 403, body: { message: 'You have exceeded a secondary rate limit.' } }, 'rate_limited'],
    [{ status: 404 }, 'not_found'],
    [{ status: 409 }, 'conflict'],
    [{ status: 422 }, 'invalid'],
    [{ status: 429, headers: { 'retry-after': '3' } }, 'rate_limited'],
    [{ status: 502 }, 'unavailable'],
    ['cut', 'unavailable'],
    ['half', 'unavailable'],
  ])('fails as a whole if one part of it answers %j', async (answer, kind) => {
    const { cursor } = await seen()
    const { id } = server.reviews.comment(11, NUMBER, { path: 'work.txt', body: 'Why?' })
    for (const when of [/pulls\/1$/, /pulls\/1\/reviews$/, /pulls\/1\/comments$/, /issues\/1\/comments$/]) {
      server.fail({ when, answer })
      await expect(observe()).rejects.toEqual(fails(kind))
      await expect(observe(cursor)).rejects.toEqual(fails(kind))
      server.mend()
    }
    server.fail({ when: /^POST/, answer })
    await expect(host.following.reply(ref, NUMBER, { threadId: String(id) }, 'Because.')).rejects.toEqual(fails(kind))
    server.mend()
    expect((await seen(cursor)).comments[0]).toMatchObject({ body: 'Why?' })
  })

  test('names the missing part', async () => {
    await expect(host.following.observe(ref, 99, null)).rejects.toEqual(fails('not_found', { subject: 'pull' }))
    const elsewhere = { ...ref, repositoryId: '12' }
    await expect(host.following.observe(elsewhere, 1, null)).rejects.toEqual(fails('not_found'))
  })
})

describe('an answer in a thread of GitHub', () => {
  const answer = '<!-- berth 1 -->\nDone.'
  const since = new Date(0)

  test('goes into the thread and is found again there', async () => {
    const { id } = server.reviews.comment(11, NUMBER, { path: 'work.txt', body: 'Why?' })
    server.reviews.comment(11, NUMBER, { path: 'work.txt', body: answer, to: id })
    const at = { number: NUMBER, since }
    expect(await host.following.findReply(ref, at, '<!-- berth 1 -->')).toBeNull()
    const made = await host.following.reply(ref, NUMBER, { threadId: String(id) }, answer)
    expect(server.reviews.comments.at(-1)).toMatchObject({ in_reply_to_id: id, body: answer })
    expect(await host.following.findReply(ref, at, '<!-- berth 1 -->')).toEqual(made)
  })

  test.each([
    ['stands alone', null],
    ['is in a thread that is gone', '77'],
    ['names no thread of GitHub', '../merge'],
  ])('is a comment on the pull request if the comment %s', async (_, threadId) => {
    const made = await host.following.reply(ref, NUMBER, { threadId }, answer)
    expect(server.talk.comments.at(-1)).toMatchObject({ issue: NUMBER, body: answer })
    expect(await host.following.findReply(ref, { number: NUMBER, since }, '<!-- berth 1 -->')).toEqual(made)
  })
})

describe('the log of a check of GitHub', () => {
  const logOf = async (name: string, mostBytes = 65_536) => {
    const found = (await seen()).checks?.find(one => one.name === name)
    if (found === undefined) throw new Error(`there is no check ${name}`)
    return host.following.checkLog(ref, found, mostBytes)
  }
  const output = { title: '1 failed', summary: 'greet() is wrong', text: 'expected Hello' }
  const annotations = [{ path: 'greet.ts', start_line: 4, annotation_level: 'failure', message: 'Hullo' }]
  const expected = '1 failed\n\ngreet() is wrong\n\nexpected Hello\n\ngreet.ts:4: failure: Hullo'

  test.each([true, false])('is that of its job, to which no token of ours goes (elsewhere: %s)', async elsewhere => {
    server.actions.elsewhere = elsewhere
    const log = '2026-11-29T12:00:00.1234567Z first\n2026-11-29T12:00:01.0000000Z \u001b[31mfailed\u001b[0m\n'
    server.actions.run(11, head, 'tests', { conclusion: 'failure', log, output })
    expect(await logOf('tests')).toBe('first\nfailed\n')
    expect(server.actions.logCredentials).toEqual([null])
  })

  test('is cut at its beginning, between two lines', async () => {
    const log = Array.from({ length: 20_000 }, (_, at) => `line ${at} ü\n`).join('')
    server.actions.run(11, head, 'tests', { conclusion: 'failure', log })
    const text = await logOf('tests', 1000)
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(1000)
    expect(Buffer.byteLength(text)).toBeGreaterThan(980)
    expect(text).toMatch(/^line 199\d\d ü\n[\s\S]*line 19999 ü\n$/)
  })

  test('is the output of its run if the job has none, it cannot be read, or another App made it', async () => {
    const end = { conclusion: 'failure', output, annotations }
    server.actions.run(11, head, 'no log', { ...end, log: null })
    server.actions.run(11, head, 'theirs', { ...end, log: 'not this', app: { id: 9, slug: 'other-ci' } })
    server.actions.run(11, head, 'refused', { ...end, log: 'not this' })
    server.fail({ when: /jobs\/90002\/logs/, answer: { status: 403 } })
    for (const name of ['no log', 'theirs', 'refused']) expect(await logOf(name)).toBe(expected)
  })

  test('is not read from where the log lies on a host that may not be asked', async () => {
    server.actions.elsewhere = true
    server.actions.run(11, head, 'tests', { conclusion: 'failure', log: 'secret', output, annotations })
    const app = { appId: server.appId, privateKey: server.privateKey, baseUrl: server.url }
    using bound = new GitHubHost(app, systemClock)
    expect(await bound.following.checkLog(ref, { id: 'run:90000', summary: null }, 65_536)).toBe(expected)
    expect(server.actions.logCredentials).toEqual([])
  })

  test('is the description of a status, and nothing for a check of nobody', async () => {
    server.checks.byRules = ['audit']
    server.checks.statuses.set('ci', { state: 'failure', target_url: null, description: '3 of 4 passed' })
    expect(await logOf('ci')).toBe('3 of 4 passed')
    expect(await logOf('audit')).toBe('')
  })

  test('waits for a host that is away', async () => {
    server.actions.run(11, head, 'tests', { conclusion: 'failure', log: 'failed' })
    server.fail({ when: /check-runs\/90000$/, answer: { status: 502 } })
    await expect(logOf('tests')).rejects.toEqual(fails('unavailable'))
  })
})
