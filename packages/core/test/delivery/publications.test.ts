import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { rename, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { operationIds, operationOf, type Publication, type PublicationPage } from '@berth/contract'
import { systemClock } from '@berth/platform/kit/clock.ts'
import { recordCheck } from '@berth/server/admin/repositories.ts'
import { Environments } from '@berth/testing/environments/environments.ts'
import { Delivering, type Granted, grant } from '@berth/testing/git/delivering.ts'
import { commitTo, fileAt, sampleRepository, tipOf } from '@berth/testing/git/repositories.ts'
import { outcome } from '@berth/testing/runs/outcome.ts'
import { WorkerStandIn } from '@berth/testing/runs/states.ts'
import { databaseUrl, startTestService, type TestService } from '@berth/testing/services/service.ts'
import { until } from '@berth/testing/until.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { gitText, runGit } from '../../src/git/run-git.ts'
import type { RepositoryRef } from '../../src/git-hosts/git-host.ts'
import { LOCAL_ACCOUNT, LocalHost } from '../../src/git-hosts/local/local-host.ts'

let test: TestService
let host: LocalHost
let count = 0
beforeAll(async () => {
  // bound: a pause between two looks
  test = await startTestService({ fixed: { mergeCheckMs: 1000 } })
  host = new LocalHost(test.db.database, systemClock, join(test.dataDir, 'repositories'), () => test.url)
})
afterAll(() => test[Symbol.asyncDispose]())

const execFileAsync = promisify(execFile)

/** Makes a new repository and a Session on it. */
async function begin(): Promise<Delivering & { fullName: string; gitDir: string; ref: RepositoryRef }> {
  const fullName = `sample/greeter-${++count}`
  const gitDir = await sampleRepository(join(test.dataDir, 'repositories'), fullName)
  const { repositories } = await host.listRepositories(LOCAL_ACCOUNT, { limit: 100, from: null })
  const repository = repositories.find(candidate => candidate.fullName === fullName)
  if (repository === undefined) throw new Error(`no ${fullName}`)
  const granted: Granted = { host: 'local', provider: 'local', account: LOCAL_ACCOUNT, repository, gitDir }
  const delivering = await Delivering.begin(test, { ...granted, grantId: await grant(test, granted) })
  const ref = { account: LOCAL_ACCOUNT, repositoryId: repository.repositoryId }
  return Object.assign(delivering, { fullName, gitDir, ref })
}

describe('delivery from a workspace to a merged pull request', () => {
  it('delivers exactly the reviewed changes, once, and merges them at the exact head', async () => {
    const at = await begin()
    await at.shell(`printf 'hello\\n' > hello.txt; git add -A; git -c user.name=a -c user.email=a@b commit -qm agent`)
    const review = await at.review()
    expect(review).toMatchObject({ baseOid: at.baseOid, targetBranch: 'main', additions: 1, deletions: 0 })
    expect(review.files.map(file => file.path)).toEqual(['hello.txt'])
    expect(await at.review()).toEqual(review)

    const id = randomUUID()
    const body = { revision: review.revision, title: 'Say hello', body: 'Because.\r\nReally.', draft: false }
    const [first, replay] = [
      await at.put(id, body),
      await at.put(id, { ...body, delivery: 'pull_request', branch: null }),
    ]
    expect([first.status, replay.status]).toEqual([201, 200])
    expect((await at.put(id, { ...body, branch: `svc/${at.session.id}` })).status).toBe(200)
    expect(first.body.publication).toMatchObject({ id, status: 'admitted', revision: review.revision })
    const publication = await at.ended(id)
    const branch = `svc/${at.session.id}`
    const head = await tipOf(at.gitDir, branch)
    expect(publication).toMatchObject({
      status: 'succeeded',
      result: {
        delivery: 'pull_request',
        branch,
        commitSha: head,
        pullRequest: { number: 1, draft: false, reused: false },
      },
    })
    expect(await gitText(['rev-parse', `${head}^{tree}`], { gitDir: at.gitDir })).toBe(review.headTree)
    expect(await gitText(['rev-list', head], { gitDir: at.gitDir })).toMatch(new RegExp(`^${head}\n${at.baseOid}`))
    expect(await gitText(['log', '-1', '--format=%B', head], { gitDir: at.gitDir })).toBe(
      'Say hello\n\nBecause.\nReally.\n',
    )

    const merge = await at.merge(id, { strategy: 'squash', commitTitle: 'Squashed', commitMessage: 'One.\r\nTwo.\r\n' })
    expect(merge).toMatchObject({ status: 'succeeded', pullRequestNumber: 1, expectedHeadSha: head, attempts: 1 })
    expect(merge.mergedCommitSha).toBe(await tipOf(at.gitDir, 'main'))
    expect(await fileAt(at.gitDir, 'main', 'hello.txt')).toBe('hello')
    const message = await gitText(['log', '-1', '--format=%B', 'main'], { gitDir: at.gitDir })
    expect(message).toBe('Squashed\n\nOne.\nTwo.\n')

    const events = await at.events()
    expect(events.map(event => event.type)).toEqual([
      'svc.artifact.created',
      'svc.publication.created',
      'svc.publication.merge_succeeded',
    ])
    for (const event of events) expect(event.subject).toEqual({ sessionId: at.session.id })
    expect(events[0]?.data).toMatchObject({ kind: 'pull_request_record', publicationId: id })
    expect(events[1]?.data).toEqual({
      publicationId: id,
      delivery: 'pull_request',
      status: 'succeeded',
      result: publication.result,
    })
    expect(events[2]?.data).toMatchObject({
      publicationId: id,
      mergeId: merge.id,
      mergedCommitSha: merge.mergedCommitSha,
    })
    const artifact = String(events[0]?.data['artifactId'])
    const record = await at.api.get(at.path(`/artifacts/${artifact}/content`))
    expect(JSON.parse(record.text)).toMatchObject({ publicationId: id, pullRequest: { number: 1 } })
  })

  it('moves its own branch forward and reuses the open pull request', async () => {
    const at = await begin()
    await writeFile(join(at.project, 'a'), 'a')
    const first = await at.publish()
    await writeFile(join(at.project, 'b'), 'b')
    const second = await at.publish()
    expect(second.result?.pullRequest).toMatchObject({ number: first.result?.pullRequest?.number, reused: true })
    const [one, two] = [first.result?.commitSha ?? '', second.result?.commitSha ?? '']
    expect(await gitText(['rev-list', two], { gitDir: at.gitDir })).toMatch(
      new RegExp(`^${two}\n${one}\n${at.baseOid}`),
    )
    const again = await at.publish()
    expect(again.result).toEqual(second.result)
  })

  it('works in the order of admission, whatever the clocks say', async () => {
    const at = await begin()
    await writeFile(join(at.project, 'a'), 'a')
    const { revision } = await at.review()
    const made = await at.publish({ revision })
    await test.db.database.query("update publications set created_at = now() + interval '1 hour' where id = $1", [
      made.id,
    ])
    const ids = [randomUUID(), randomUUID(), randomUUID()]
    const admitted = await Promise.all(ids.map(id => at.put(id, { revision, title: id })))
    const times = admitted.map(({ body }) => body.publication.createdAt).toSorted()
    expect(new Set(times).size).toBe(3)
    expect(Date.parse(times[0] ?? '')).toBeGreaterThan(Date.now() + 3_000_000)
    for (const id of ids) expect(await at.ended(id)).toMatchObject({ result: { pullRequest: { reused: true } } })
  })

  it("pushes directly to the session's base branch, fast-forward only", async () => {
    const at = await begin()
    await writeFile(join(at.project, 'a'), 'a')
    const first = await at.publish({ delivery: 'direct_branch' })
    expect(first.result).toEqual({
      delivery: 'direct_branch',
      branch: 'main',
      commitSha: await tipOf(at.gitDir, 'main'),
    })
    await writeFile(join(at.project, 'b'), 'b')
    const second = await at.publish({ delivery: 'direct_branch' })
    expect(second.result?.commitSha).toBe(await tipOf(at.gitDir, 'main'))
    const moved = await commitTo(at.gitDir, 'main', second.result?.commitSha ?? '', { theirs: 'x' })
    await writeFile(join(at.project, 'c'), 'c')
    expect(await at.publish({ delivery: 'direct_branch' })).toMatchObject({ lastError: { code: 'target_moved' } })
    expect(await tipOf(at.gitDir, 'main')).toBe(moved)
    expect((await at.events()).map(event => event.type)).toEqual([
      'svc.publication.created',
      'svc.publication.created',
      'svc.publication.failed',
    ])
    const merges = at.putMerge(first.id, randomUUID(), { strategy: 'merge' })
    expect(outcome(await merges)).toBe('409 cloud_publication_not_mergeable')
  })
})

describe('a publication that is impossible', () => {
  let at: Awaited<ReturnType<typeof begin>>
  beforeAll(async () => {
    at = await begin()
  })
  const failure = (publication: Publication) => [publication.status, publication.lastError?.code]

  it('is refused without changes, and for changes made since the review', async () => {
    const nothing = await at.review()
    expect(failure(await at.publish({ revision: nothing.revision }))).toEqual(['failed', 'no_changes'])
    await writeFile(join(at.project, 'a'), 'a')
    const reviewed = await at.review()
    await writeFile(join(at.project, 'a'), 'b')
    expect(failure(await at.publish({ revision: reviewed.revision }))).toEqual(['failed', 'review_changed'])
    expect(failure(await at.publish({ revision: nothing.revision }))).toEqual(['failed', 'review_changed'])
    expect((await at.events()).at(-1)?.data).toMatchObject({ status: 'failed', errorCode: 'review_changed' })
  })

  it('leaves a branch alone that belongs to, or was moved by, somebody else', async () => {
    const theirs = await commitTo(at.gitDir, 'theirs', at.baseOid, { x: 'x' })
    expect(failure(await at.publish({ branch: 'theirs' }))).toEqual(['failed', 'branch_exists'])
    expect(await tipOf(at.gitDir, 'theirs')).toBe(theirs)
    const own = await at.publish({ branch: 'own' })
    expect(own.status).toBe('succeeded')
    const moved = await commitTo(at.gitDir, 'own', own.result?.commitSha ?? '', { x: 'x' })
    await writeFile(join(at.project, 'a'), 'c')
    expect(failure(await at.publish({ branch: 'own' }))).toEqual(['failed', 'branch_moved'])
    expect(await tipOf(at.gitDir, 'own')).toBe(moved)
    await runGit(['update-ref', '-d', 'refs/heads/own'], { gitDir: at.gitDir })
    expect(await at.publish({ branch: 'own' })).toMatchObject({ status: 'succeeded', result: { branch: 'own' } })
  })

  it.each([
    ['above', 'in', 'in/the/way'],
    ['below', 'deep/down/here', 'deep'],
  ])('names a branch %s its own that is in the way at once, and offers another name', async (_, there, branch) => {
    await commitTo(at.gitDir, there, at.baseOid, { x: 'x' })
    const refused = await at.publish({ branch })
    const suggestedBranch = `svc-${at.session.id}`
    expect(refused.lastError).toEqual({ code: 'branch_exists', branch: there, suggestedBranch })
    expect((await at.events()).at(-1)?.data).toMatchObject({ errorCode: 'branch_exists', branch: there })
    const other = await at.publish({ branch: `${suggestedBranch}-${there.slice(0, 2)}` })
    expect(other.status).toBe('succeeded')
  })

  it('says that the base was rewritten, and leaves no branch of a refused pull request behind', async () => {
    const rewritten = await begin()
    await writeFile(join(rewritten.project, 'a'), 'a')
    const tree = await gitText(['rev-parse', 'main^{tree}'], { gitDir: rewritten.gitDir })
    const env = { GIT_AUTHOR_NAME: 'a', GIT_AUTHOR_EMAIL: 'a@b', GIT_COMMITTER_NAME: 'a', GIT_COMMITTER_EMAIL: 'a@b' }
    const root = await gitText(['commit-tree', '-m', 'anew', tree], { gitDir: rewritten.gitDir, env })
    await runGit(['update-ref', 'refs/heads/main', root], { gitDir: rewritten.gitDir })
    const refused = await rewritten.publish()
    expect(refused.lastError).toEqual({ code: 'base_rewritten' })
    const branches = await gitText(['for-each-ref', '--format=%(refname)', 'refs/heads/svc'], {
      gitDir: rewritten.gitDir,
    })
    expect(branches).toBe('')
  })

  it('respects a protected branch, and fails if the branch is gone', async () => {
    await host.setRule(at.ref, 'main', { requiredChecks: [] })
    expect(failure(await at.publish({ delivery: 'direct_branch' }))).toEqual(['failed', 'branch_protected'])
    const late = await at.publish({ delivery: 'direct_branch' })
    // As if the Publication had been prepared before the rule was made.
    await test.db.database.query(
      `update publications set status = 'prepared', commit_sha = $2, parent_oid = $3, moves_from = $3, error_code = null,
         ended_at = null, due_at = now() where id = $1`,
      [late.id, '1'.repeat(40), at.baseOid],
    )
    expect(failure(await at.ended(late.id))).toEqual(['failed', 'branch_protected'])
    await host.setRule(at.ref, 'main', null)
    await runGit(['update-ref', 'refs/heads/renamed', at.baseOid], { gitDir: at.gitDir })
    await runGit(['symbolic-ref', 'HEAD', 'refs/heads/renamed'], { gitDir: at.gitDir })
    await runGit(['update-ref', '-d', 'refs/heads/main'], { gitDir: at.gitDir })
    expect(failure(await at.publish())).toEqual(['failed', 'target_missing'])
    await runGit(['update-ref', 'refs/heads/main', at.baseOid], { gitDir: at.gitDir })
  })

  it('is refused before it is admitted', async () => {
    const { revision } = await at.review()
    const other = await begin()
    const foreign = await other.review()
    const title = 'a'
    const long = 'é'.repeat(32_769)
    const cases: readonly [string, object][] = [
      ['400 invalid_request', { revision }],
      ['400 invalid_request', { title }],
      ['400 invalid_request', { revision, title: 'a\nb' }],
      ['400 invalid_request', { revision, title: 'a\rb' }],
      ['400 invalid_request', { revision, title: 'a'.repeat(257) }],
      ['400 invalid_request', { revision, title, body: 'a'.repeat(65_537) }],
      ['400 invalid_input', { revision, title, body: long }],
      ['400 invalid_request', { revision, title, delivery: 'mail' }],
      ['400 invalid_request', { revision, title, extra: 1 }],
      ['400 invalid_request', { revision: '0'.repeat(64), title }],
      ['400 invalid_request', { revision: foreign.revision, title }],
      ['400 invalid_request', { revision, title, branch: 'a..b' }],
      ['400 invalid_request', { revision, title, branch: 'refs/heads/main' }],
      ['400 invalid_request', { revision, title, branch: 'main' }],
      ['400 invalid_request', { revision, title, delivery: 'direct_branch', branch: 'x' }],
      ['400 invalid_request', { revision, title, delivery: 'direct_branch', draft: true }],
    ]
    for (const branch of [
      '-x',
      '--upload-pack=touch x',
      'a\u0007',
      'a b',
      '@{u}',
      '@',
      'HEAD',
      'x.lock',
      '.git/config',
    ])
      expect([branch, outcome(await at.put(randomUUID(), { revision, title, branch }))]).toEqual([
        branch,
        '400 invalid_request',
      ])
    for (const [expected, body] of cases)
      expect([outcome(await at.put(randomUUID(), body)), body]).toEqual([expected, body])
    const unknown = await at.put(randomUUID(), { revision: foreign.revision, title })
    expect(unknown.body).toMatchObject({ issues: [{ path: ['revision'] }] })
    const plain = await at.api.createSession()
    const path = `/v1/sessions/${plain.id}/publications/${randomUUID()}`
    expect(outcome(await at.api.put(path, { revision, title }))).toBe('409 cloud_repository_required')
  })

  it('conflicts with another body and answers its own for ever', async () => {
    const made = await at.publish({ branch: 'kept' })
    const { revision } = made
    const body = { title: 'Change it', revision, branch: 'kept' }
    expect(outcome(await at.put(made.id, { ...body, title: 'b' }))).toBe('409 cloud_publication_conflict')
    const merged = await at.merge(made.id)
    const order = { strategy: 'merge' }
    expect(outcome(await at.putMerge(made.id, merged.id, { strategy: 'rebase' }))).toBe(
      '409 cloud_publication_merge_conflict',
    )
    await at.api.call('DELETE', at.path(''))
    expect((await at.put(made.id, body)).body.publication).toEqual(made)
    expect((await at.putMerge(made.id, merged.id, order)).body.merge).toEqual(merged)
    expect(outcome(await at.put(randomUUID(), body))).toBe('404 cloud_session_not_found')
    expect(outcome(await at.putMerge(made.id, randomUUID(), order))).toBe('404 cloud_session_not_found')
    expect(outcome(await at.api.get(at.path('/repository/review')))).toBe('409 cloud_workspace_expired')
  })

  it('is listed newest first, page by page', async () => {
    const seen: string[] = []
    let cursor = ''
    for (;;) {
      const { body } = await at.api.get<PublicationPage>(at.path(`/publications?limit=4${cursor}`))
      seen.push(...body.publications.map(publication => publication.createdAt))
      if (!body.hasMore) break
      cursor = `&cursor=${body.nextCursor}`
    }
    expect(seen.length).toBeGreaterThan(8)
    expect(seen).toEqual(seen.toSorted().toReversed())
    expect(outcome(await at.api.get(at.path('/publications?cursor=x')))).toBe('400 invalid_request')
    expect(outcome(await at.api.get(at.path('/publications?limit=101')))).toBe('400 invalid_request')
    expect(outcome(await at.api.get(at.path(`/publications/${randomUUID()}`)))).toBe('404 cloud_session_not_found')
  })
})

describe('a cursor', () => {
  it('is valid for the list that returned it and refused by every other', async () => {
    const at = await begin()
    await writeFile(join(at.project, 'a'), 'a')
    const { id } = await at.publish()
    await at.merge(id)
    await new Environments(at.api).make()
    await test.db.database.query({
      text: `
        insert into verifications (organization_id, session_id, id, request_hash, revision, tree, environment_id,
          environment_revision, checks_digest, state, requested_by_kind, requested_by_id, created_at, ended_at)
        select organization_id, session_id, $2, '', revision, head_tree, $2, 1, '', 'errored', 'installation', $2, now(), now()
        from reviews where session_id = $1 limit 1`,
      values: [at.session.id, randomUUID()],
    })
    const lists = operationIds.map(operationOf).flatMap(row => {
      const { access, method, path, query } = row
      // Some lists are for people alone; their own tests hold their cursors to the same.
      if (
        access !== 'bearer' ||
        ('principal' in row && row.principal === 'person') ||
        method !== 'GET' ||
        !Object.hasOwn(query?.properties ?? {}, 'cursor')
      )
        return []
      return [path.replace('{sessionId}', at.session.id).replace('{publicationId}', id)]
    })
    expect(lists).toHaveLength(9)
    for (const from of lists) {
      const { body } = await at.api.get<{ nextCursor: string | null }>(from)
      expect([from, body.nextCursor]).toEqual([from, expect.any(String)])
      const answers = lists.map(async to => [to, (await at.api.get(`${to}?cursor=${body.nextCursor}`)).status])
      expect(await Promise.all(answers)).toEqual(lists.map(to => [to, to === from ? 200 : 400]))
    }
  })
})

describe('a merge', () => {
  it('waits for checks if requested, and is refused otherwise', async () => {
    const at = await begin()
    await writeFile(join(at.project, 'a'), 'a')
    const { id, result } = await at.publish()
    await host.setRule(at.ref, 'main', { requiredChecks: ['test'] })
    expect(await at.merge(id)).toMatchObject({ status: 'failed', lastError: { code: 'merge_not_ready' } })
    const waiting = randomUUID()
    await at.putMerge(id, waiting, { strategy: 'rebase', mode: 'when_ready' })
    const parked = await until('a waiting merge', async () => {
      const merge = await at.readMerge(id, waiting)
      return merge.status === 'waiting' && merge
    })
    expect(parked).toMatchObject({ lastError: { code: 'merge_not_ready' } })
    // Nothing would check the Merge again by itself.
    await test.db.database.query("update merges set due_at = 'infinity' where id = $1", [waiting])
    const operator = { DATABASE_URL: databaseUrl(test.db), BERTH_DATA_DIR: test.dataDir }
    await recordCheck(operator, at.fullName, { oid: result?.commitSha ?? '', name: 'test', state: 'success' })
    const merged = await until('a merge', async () => {
      const merge = await at.readMerge(id, waiting)
      return merge.status === 'succeeded' && merge
    })
    expect(merged.lastError).toBeUndefined()
    expect(merged.attempts).toBeGreaterThan(parked.attempts)
    expect(await at.merge(id)).toMatchObject({ status: 'succeeded', mergedCommitSha: merged.mergedCommitSha })
    const { body } = await at.api.get<{ merges: unknown[]; hasMore: boolean }>(at.path(`/publications/${id}/merges`))
    expect([body.merges.length, body.hasMore]).toEqual([3, false])
    const types = (await at.events()).map(event => event.type.replace('svc.', ''))
    expect(types).toEqual([
      'artifact.created',
      'publication.created',
      'publication.merge_failed',
      'publication.merge_succeeded',
      'publication.merge_succeeded',
    ])
  })

  it('is one merge even if two are requested at once', async () => {
    const at = await begin()
    await writeFile(join(at.project, 'a'), 'a')
    const { id } = await at.publish()
    const both = await Promise.all([at.merge(id), at.merge(id, { strategy: 'squash' })])
    const main = await tipOf(at.gitDir, 'main')
    expect(both).toMatchObject(Array.from(both, () => ({ status: 'succeeded', mergedCommitSha: main })))
    expect(await gitText(['rev-list', '--first-parent', '--count', `${at.baseOid}..main`], { gitDir: at.gitDir })).toBe(
      '1',
    )
  })

  it('merges the published head and no other', async () => {
    const at = await begin()
    await writeFile(join(at.project, 'a'), 'a')
    const { id, result } = await at.publish()
    await commitTo(at.gitDir, result?.branch ?? '', result?.commitSha ?? '', { x: 'x' })
    const main = await tipOf(at.gitDir, 'main')
    for (const mode of ['immediate', 'when_ready']) {
      const merge = await at.merge(id, { strategy: 'merge', mode })
      expect(merge).toMatchObject({ status: 'failed', lastError: { code: 'head_moved' } })
    }
    expect(await tipOf(at.gitDir, 'main')).toBe(main)
  })

  it('must have a known strategy, and text within its bounds', async () => {
    const at = await begin()
    await writeFile(join(at.project, 'a'), 'a')
    const { id } = await at.publish()
    const cases: readonly [string, object][] = [
      ['400 invalid_request', {}],
      ['400 invalid_request', { strategy: 'octopus' }],
      ['400 invalid_request', { strategy: 'merge', mode: 'later' }],
      ['400 invalid_request', { strategy: 'merge', commitTitle: 'a\nb' }],
      ['400 invalid_request', { strategy: 'merge', commitMessage: 'a'.repeat(65_537) }],
      ['400 invalid_input', { strategy: 'merge', commitMessage: 'é'.repeat(32_769) }],
    ]
    for (const [expected, body] of cases) expect(outcome(await at.putMerge(id, randomUUID(), body))).toBe(expected)
    expect(outcome(await at.putMerge(randomUUID(), randomUUID(), { strategy: 'merge' }))).toBe(
      '404 cloud_session_not_found',
    )
    expect(outcome(await at.api.get(at.path(`/publications/${id}/merges/${randomUUID()}`)))).toBe(
      '404 cloud_session_not_found',
    )
  })
})

describe('an event in between', () => {
  it('fails deliveries that nobody began when the session is archived', async () => {
    const at = await begin()
    await writeFile(join(at.project, 'a'), 'a')
    const { id } = await at.publish()
    await host.setRule(at.ref, 'main', { requiredChecks: ['test'] })
    const waiting = randomUUID()
    await at.putMerge(id, waiting, { strategy: 'merge', mode: 'when_ready' })
    await until('a waiting merge', async () => (await at.readMerge(id, waiting)).status === 'waiting')
    await at.api.call('DELETE', at.path(''))
    expect(await at.readMerge(id, waiting)).toMatchObject({ status: 'failed', lastError: { code: 'session_archived' } })
    expect((await at.events()).at(-1)?.type).toBe('svc.publication.merge_failed')
  })

  it('delivers nothing for a revoked grant', async () => {
    const at = await begin()
    await writeFile(join(at.project, 'a'), 'a')
    const { id, revision } = await at.publish()
    await host.setRule(at.ref, 'main', { requiredChecks: ['test'] })
    const waiting = randomUUID()
    await at.putMerge(id, waiting, { strategy: 'merge', mode: 'when_ready' })
    await until('a waiting merge', async () => (await at.readMerge(id, waiting)).status === 'waiting')
    await test.db.database.query('update repository_grants set revoked_at = now() where repository_id = $1', [
      at.ref.repositoryId,
    ])
    const revoked = { status: 'failed', lastError: { code: 'authority_revoked' } }
    expect(await at.publish({ revision })).toMatchObject(revoked)
    await host.setRule(at.ref, 'main', null)
    await test.db.database.query('update merges set due_at = now() where id = $1', [waiting])
    const merge = await until('an ended merge', async () => {
      const read = await at.readMerge(id, waiting)
      return read.completedAt !== undefined && read
    })
    expect(merge).toMatchObject(revoked)
    expect(outcome(await at.api.get(at.path('/repository/review')))).toBe('403 cloud_repository_grant_required')
  })

  it.each([
    ['a revoked installation', 'installations set revoked_at = now()', 'installations set revoked_at = null'],
    [
      'an installation without product access',
      "installations set capabilities = array_remove(capabilities, 'svc.cloud.access')",
      "installations set capabilities = capabilities || '{svc.cloud.access}'",
    ],
    ['a suspended organization', 'organizations set suspended_at = now()', 'organizations set suspended_at = null'],
    [
      'an organization without product access',
      'organizations set cloud_access = false',
      'organizations set cloud_access = true',
    ],
  ])('delivers nothing for %s', async (_, end, restore) => {
    const at = await begin()
    const { db } = test
    await writeFile(join(at.project, 'a'), 'a')
    const { revision } = await at.review()
    const change = (what: string) =>
      db.database.query(`update ${what} where id = any($1)`, [[test.tenant.installationId, test.tenant.organizationId]])
    const id = randomUUID()
    await using stack = new AsyncDisposableStack()
    stack.defer(() => change(restore).then(() => undefined))
    await db.database.query(
      `create function hold() returns trigger language plpgsql as $$ begin new.due_at := 'infinity'; return new; end $$`,
    )
    await db.database.query('create trigger hold before insert on publications for each row execute function hold()')
    await at.put(id, { revision, title: 'a' })
    await db.database.query('drop function hold cascade')
    await change(end)
    await db.database.query('update publications set due_at = now() where id = $1', [id])
    const { rows } = await until('an ended publication', async () => {
      const read = await db.database.query(
        'select error_code from publications where id = $1 and ended_at is not null',
        [id],
      )
      return read.rows.length > 0 && read
    })
    expect(rows).toEqual([{ error_code: 'authority_revoked' }])
  })

  it('does not let the workspace be released or restored under a publication', async () => {
    const at = await begin()
    await writeFile(join(at.project, 'a'), 'a')
    const { id } = await at.publish()
    await test.db.database.query(
      "update publications set status = 'attempted', ended_at = null, due_at = 'infinity' where id = $1",
      [id],
    )
    expect(outcome(await at.api.call('DELETE', at.path('/workspace')))).toBe('409 cloud_publication_in_progress')
    await new WorkerStandIn(test.db.database).loseSandbox(at.session)
    const restore = () => at.api.call('PUT', at.path('/workspace'))
    expect(outcome(await restore())).toBe('409 cloud_publication_in_progress')
    await test.db.database.query('update publications set due_at = now() where id = $1', [id])
    expect((await at.ended(id)).status).toBe('succeeded')
    expect((await restore()).status).toBe(200)
  })

  it('refuses to review a workspace without a repository', async () => {
    const at = await begin()
    // A kept checkout is a mount, which an agent can neither rename nor replace.
    await execFileAsync('umount', ['--lazy', '--', at.project]).catch(() => undefined)
    await rename(at.project, `${at.project}-moved`)
    await symlink('/', at.project)
    expect(outcome(await at.api.get(at.path('/repository/review')))).toBe('409 cloud_review_refused')
  })

  it('waits for a branch that another push holds', async () => {
    const at = await begin()
    await writeFile(join(at.project, 'a'), 'a')
    const lock = join(at.gitDir, 'refs/heads/main.lock')
    await writeFile(lock, '')
    const publishing = at.publish({ delivery: 'direct_branch' })
    await until('a push that was refused', async () => {
      const { rows } = await test.db.database.query<{ failures: number }>(
        "select failures from publications where status = 'attempted' and failures > 0",
      )
      return rows.length > 0
    })
    await rm(lock)
    expect((await publishing).status).toBe('succeeded')
  })

  it('names the file that git cannot store', async () => {
    const at = await begin()
    await writeFile(join(at.project, 'bad.txt'), 'a')
    await writeFile(join(at.project, '.gitattributes'), 'bad.txt working-tree-encoding=UTF-99\n')
    const answer = await at.api.get(at.path('/repository/review'))
    expect(outcome(answer)).toBe('409 cloud_review_refused')
    expect(answer.body).toMatchObject({ message: expect.stringContaining("failed to encode 'bad.txt'") })
  })

  it('fails without the workspace that was reviewed', async () => {
    const at = await begin()
    await writeFile(join(at.project, 'a'), 'a')
    const { revision } = await at.review()
    await new WorkerStandIn(test.db.database).loseSandbox(at.session)
    const answer = await at.put(randomUUID(), { revision, title: 'a' })
    const attach = `PUT /v1/sessions/${at.session.id}/workspace attaches it again, without a Run`
    for (const refused of [answer, await at.api.get(at.path('/repository/review'))]) {
      expect(outcome(refused)).toBe('409 cloud_workspace_expired')
      expect(refused.body).toMatchObject({ message: expect.stringContaining(attach) })
    }
  })
})
