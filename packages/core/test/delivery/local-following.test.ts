import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '@berth/platform/kit/clock.ts'
import { commitTo, sampleRepository, tipOf } from '@berth/testing/git/repositories.ts'
import { createTestDatabase } from '@berth/testing/storage/postgres.ts'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { runGit } from '../../src/git/run-git.ts'
import type { RepositoryRef } from '../../src/git-hosts/git-host.ts'
import type { Observation } from '../../src/git-hosts/host-following.ts'
import { LocalHost } from '../../src/git-hosts/local/local-host.ts'
import { insertReview, type LocalReviewRow } from '../../src/git-hosts/local/local-review-sql.ts'

const NUMBER = 1
const ann = '00000000-0000-4000-8000-00000000000a'

let stack: AsyncDisposableStack
let db: Awaited<ReturnType<typeof createTestDatabase>>
let host: LocalHost
let ref: RepositoryRef
let gitDir: string
let head: string
let ids = 0

beforeEach(async () => {
  stack = new AsyncDisposableStack()
  const root = await mkdtemp(join(tmpdir(), 'berth-following-'))
  stack.defer(() => rm(root, { recursive: true }))
  db = stack.use(await createTestDatabase())
  host = new LocalHost(db.database, systemClock, root, () => 'http://localhost')
  gitDir = await sampleRepository(root)
  ref = (await host.findRepository('sample/greeter')) as RepositoryRef
  head = await commitTo(gitDir, 'work', await tipOf(gitDir, 'main'), { 'work.txt': 'one' })
  await host.openPull(ref, { title: 'Work', body: '', head: 'work', base: 'main', draft: false })
})
afterEach(() => stack.disposeAsync())

const observe = (since: string | null = null) => host.following.observe(ref, NUMBER, since)

async function seen(since: string | null = null): Promise<Observation> {
  const found = await observe(since)
  if (found === null) throw new Error('nothing was seen to change')
  return found
}

async function write(more: Partial<LocalReviewRow>): Promise<string> {
  const id = `00000000-0000-4000-8000-0000000001${String(ids++).padStart(2, '0')}`
  const by = { author_id: ann, author_name: 'Ann', written_by: 'person', head_oid: head } as const
  const row: LocalReviewRow = { id, ...by, state: 'commented', body: '', comments: [], created_at: new Date(), ...more }
  await insertReview(db.database, { repositoryId: ref.repositoryId, number: NUMBER }, row)
  return id
}

const onLine = (id: string, body: string) => ({ id, threadId: id, path: 'work.txt', line: 1, body })

describe('a pull request of the data directory that is followed', () => {
  test.each<[string, () => Promise<unknown>]>([
    ['a push', () => commitTo(gitDir, 'work', head, { 'work.txt': 'two' })],
    ['a base that moves', async () => commitTo(gitDir, 'main', await tipOf(gitDir, 'main'), { 'new.txt': 'n' })],
    ['a check', () => host.recordCheck(ref, { oid: head, name: 'tests', state: 'failure' })],
    ['a rule', () => host.setRule(ref, 'main', { requiredChecks: ['audit'] })],
    ['a review', () => write({ state: 'approved' })],
    ['a comment', () => write({ body: 'Why?' })],
    ['a branch that is deleted', () => runGit(['update-ref', '-d', 'refs/heads/work'], { gitDir })],
  ])('is seen to change by %s, and by nothing else', async (_, happens) => {
    const { cursor } = await seen()
    expect(await observe(cursor)).toBeNull()
    await happens()
    const { cursor: next } = await seen(cursor)
    expect(await observe(next)).toBeNull()
  })

  test('tells conflicts, a base that moved and a branch that was deleted', async () => {
    const oid = await commitTo(gitDir, 'main', await tipOf(gitDir, 'main'), { 'work.txt': 'theirs' })
    expect(await seen()).toMatchObject({ pull: { mergeable: 'no', blockers: ['conflict'] }, baseOid: oid })
    await runGit(['update-ref', '-d', 'refs/heads/work'], { gitDir })
    expect(await seen()).toMatchObject({ pull: { state: 'closed' }, branchDeleted: true })
    await commitTo(gitDir, 'work', head, { 'work.txt': 'again' })
    await runGit(['update-ref', '-d', 'refs/heads/main'], { gitDir })
    expect(await seen()).toMatchObject({ pull: { state: 'closed' }, branchDeleted: false, baseOid: null })
  })

  test('has the checks of its head, each with the end of what it printed', async () => {
    await host.setRule(ref, 'main', { requiredChecks: ['audit', 'tests'] })
    await host.recordCheck(ref, { oid: await tipOf(gitDir, 'main'), name: 'lint', state: 'failure' })
    const output = `${'x'.repeat(70_000)}\nline one\nline two\n`
    await host.recordCheck(ref, { oid: head, name: 'tests', state: 'failure', output })
    const { checks } = await seen()
    expect(checks).toMatchObject([
      { name: 'tests', state: 'failure', required: true, conclusion: 'failure', completedAt: expect.any(Date) },
      { name: 'audit', state: 'missing', required: true, id: null },
    ])
    const [failed, missing] = checks ?? []
    if (failed === undefined || missing === undefined) throw new Error('there are no checks')
    expect(await host.following.checkLog(ref, failed, 65_536)).toBe('line one\nline two\n')
    expect(await host.following.checkLog(ref, failed, 12)).toBe('line two\n')
    expect(await host.following.checkLog(ref, missing, 65_536)).toBe('')
    await host.recordCheck(ref, { oid: head, name: 'tests', state: 'failure' })
    expect((await seen()).checks?.[0]?.id).not.toBe(failed.id)
  })

  test('has reviews, and single comments apart', async () => {
    const review = await write({ state: 'changes_requested', body: 'No.', comments: [onLine('t1', 'Wrong.')] })
    await write({ body: 'And the docs?' })
    await write({ comments: [onLine('t2', 'Why?')] })
    const author = { id: ann, login: ann }
    const { reviews, comments } = await seen()
    expect(reviews).toMatchObject([
      { id: review, author, isBot: false, state: 'changes_requested', comments: [{ threadId: 't1', line: 1 }] },
    ])
    expect(comments).toMatchObject([
      { body: 'And the docs?', path: null, threadId: null },
      { body: 'Why?', path: 'work.txt', line: 1, threadId: 't2', isOurs: false },
    ])
    await commitTo(gitDir, 'work', head, { 'work.txt': 'two' })
    expect((await seen()).comments[1]).toMatchObject({ path: 'work.txt', line: null })
    expect(await host.following.rightOf(ref, ann)).toBe('write')
    expect(await host.following.rightOf(ref, 'eve')).toBe('none')
  })

  test('takes comments and answers of its own, and finds them again', async () => {
    const since = new Date(Date.now() - 60_000)
    const at = { number: NUMBER, since }
    const { id } = await host.following.addComment(ref, NUMBER, '<!-- 1 -->\nWorking on it')
    expect((await host.following.findOwnComment(ref, at, '<!-- 1 -->'))?.id).toBe(id)
    await host.following.editComment(ref, id, '<!-- 1 -->\nDone')
    await write({ body: '<!-- 2 -->', comments: [onLine('t1', 'Why?'), onLine('t3', 'How?')] })
    expect(await host.following.findReply(ref, at, '<!-- 2 -->')).toBeNull()
    const reply = await host.following.reply(ref, NUMBER, { threadId: 't1' }, '<!-- 2 -->\nBecause')
    await host.following.reply(ref, NUMBER, { threadId: null }, '<!-- 3 -->\nAlone')
    expect(await host.following.findReply(ref, at, '<!-- 2 -->')).toEqual(reply)
    expect((await seen()).comments).toMatchObject([
      { body: '<!-- 1 -->\nDone', isOurs: true, isBot: true, threadId: null },
      { body: '<!-- 2 -->\nBecause', isOurs: true, path: 'work.txt', threadId: 't1' },
      { body: '<!-- 3 -->\nAlone', isOurs: true, threadId: null },
    ])
    const gone = host.following.editComment(ref, ann, 'x')
    await expect(gone).rejects.toMatchObject({ kind: 'not_found' })
  })
})
