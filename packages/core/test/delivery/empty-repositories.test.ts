import { randomUUID } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { emptyTreeOid, type Publication } from '@berth/contract'
import { systemClock } from '@berth/platform/kit/clock.ts'
import { Delivering, type Granted, grant } from '@berth/testing/git/delivering.ts'
import { GitHubServer } from '@berth/testing/git/github-server.ts'
import { emptyLocalRepository } from '@berth/testing/git/local-repository.ts'
import { emptyRepository, fileAt, firstCommit, tipOf } from '@berth/testing/git/repositories.ts'
import { outcome } from '@berth/testing/runs/outcome.ts'
import { startTestService, type TestService } from '@berth/testing/services/service.ts'
import { until } from '@berth/testing/until.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { gitText, runGit } from '../../src/git/run-git.ts'
import { LocalHost } from '../../src/git-hosts/local/local-host.ts'

let test: TestService
let server: GitHubServer
let count = 0
beforeAll(async () => {
  server = await GitHubServer.start()
  const gitHosts = [{ kind: 'github', baseUrl: server.url, appId: server.appId, privateKey: server.privateKey }]
  test = await startTestService({ config: { gitHosts } })
})
afterAll(async () => {
  await test[Symbol.asyncDispose]()
  await server[Symbol.asyncDispose]()
})

const local = (branch?: string) => emptyLocalRepository(test, `new/local-${++count}`, branch)

async function github(branch = 'main'): Promise<Granted & { readonly grantId: string }> {
  const id = 700 + ++count
  const fullName = `new/r${id}`
  const gitDir = await emptyRepository(join(test.dataDir, 'served'), fullName, branch)
  server.addRepository({ id, fullName, gitDir, installations: [String(id)] }).defaultBranch = branch
  const repository = { repositoryId: String(id), fullName }
  const host = `github:${new URL(server.url).host}`
  const granted = { host, provider: 'github', account: String(id), repository, gitDir }
  return { ...granted, grantId: await grant(test, granted) }
}

const failure = ({ status, lastError }: Publication) => [status, lastError?.code]
const parentsOf = (gitDir: string, oid: string) => gitText(['log', '-1', '--format=%P', oid], { gitDir })

describe.each([
  ['the data directory', local],
  ['GitHub', github],
])('a repository without a commit, of %s', (_, make) => {
  it('gets its first commit from a Session, and pull requests after it', async () => {
    const at = await make('trunk')
    const session = await Delivering.begin(test, at)
    expect(session.session.source).toMatchObject({ baseBranch: 'trunk', baseOid: emptyTreeOid })
    expect(await gitText(['symbolic-ref', 'HEAD'], { gitDir: join(session.project, '.git') })).toBe('refs/heads/trunk')
    expect(await session.review()).toMatchObject({ baseOid: emptyTreeOid, headTree: emptyTreeOid, files: [] })
    expect(failure(await session.publish())).toEqual(['failed', 'no_changes'])

    await session.shell(
      'mkdir src; echo one > src/a; echo two > b; ln -s b c; printf "\\0" > bin; git add -A; git status',
    )
    await session.shell('git -c user.name=a -c user.email=a@b commit -qm agent; echo three > d')
    const review = await session.review()
    expect(review).toMatchObject({ baseOid: emptyTreeOid, targetBranch: 'trunk', additions: 4, deletions: 0 })
    expect(review.files.map(({ path, status }) => [path, status])).toEqual(
      ['b', 'bin', 'c', 'd', 'src/a'].map(path => [path, 'added']),
    )

    const id = randomUUID()
    const body = { revision: review.revision, title: 'Begin', draft: true }
    expect((await session.put(id, body)).status).toBe(201)
    const first = await session.ended(id)
    const root = await tipOf(at.gitDir, 'trunk')
    expect(first).toMatchObject({ status: 'succeeded', delivery: 'pull_request' })
    expect(first.result).toEqual({ delivery: 'direct_branch', branch: 'trunk', commitSha: root })
    expect(await parentsOf(at.gitDir, root)).toBe('')
    expect(await gitText(['rev-parse', `${root}^{tree}`], { gitDir: at.gitDir })).toBe(review.headTree)
    expect((await session.put(id, { ...body, branch: `svc/${session.session.id}` })).status).toBe(200)
    expect((await session.put(id, { ...body, title: 'Other' })).status).toBe(409)
    expect(outcome(await session.putMerge(id, randomUUID(), { strategy: 'merge' }))).toBe(
      '409 cloud_publication_not_mergeable',
    )
    expect((await session.publish()).result).toEqual(first.result)

    await session.shell('echo more >> b')
    const second = await session.publish()
    const branch = `svc/${session.session.id}`
    const head = await tipOf(at.gitDir, branch)
    expect(second.result).toMatchObject({
      ...{ delivery: 'pull_request', branch, commitSha: head },
      pullRequest: { number: 1, draft: false, reused: false },
    })
    expect(await parentsOf(at.gitDir, head)).toBe(root)
    await session.shell('echo still more >> b')
    const third = await session.publish()
    expect(third.result?.pullRequest).toMatchObject({ number: 1, reused: true })
    expect(await parentsOf(at.gitDir, third.result?.commitSha ?? '')).toBe(head)
    expect(await session.merge(third.id)).toMatchObject({ status: 'succeeded' })
    expect(await fileAt(at.gitDir, 'trunk', 'b')).toBe('two\nmore\nstill more')
  })

  it('is pushed to directly, first and later', async () => {
    const at = await make()
    const session = await Delivering.begin(test, at)
    await writeFile(join(session.project, 'a'), 'a')
    const first = await session.publish({ delivery: 'direct_branch' })
    await writeFile(join(session.project, 'b'), 'b')
    const second = await session.publish({ delivery: 'direct_branch' })
    expect(second.result?.commitSha).toBe(await tipOf(at.gitDir, 'main'))
    expect(await parentsOf(at.gitDir, 'main')).toBe(first.result?.commitSha)
    await writeFile(join(session.project, 'c'), 'c')
    expect((await session.publish()).result?.pullRequest).toMatchObject({ number: 1 })
    expect(await parentsOf(at.gitDir, `svc/${session.session.id}`)).toBe(second.result?.commitSha)
  })

  it("keeps another's first commit, whatever the delivery", async () => {
    const at = await make()
    const session = await Delivering.begin(test, at)
    await writeFile(join(session.project, 'a'), 'a')
    const theirs = await firstCommit(at.gitDir, 'main', 'README')
    expect(failure(await session.publish())).toEqual(['failed', 'target_moved'])
    expect(failure(await session.publish({ delivery: 'direct_branch' }))).toEqual(['failed', 'target_moved'])
    expect(await tipOf(at.gitDir, 'main')).toBe(theirs)
  })

  it("keeps another's first commit on another branch", async () => {
    const at = await make()
    const session = await Delivering.begin(test, at)
    await writeFile(join(session.project, 'a'), 'a')
    await firstCommit(at.gitDir, 'develop', 'README')
    expect(failure(await session.publish())).toEqual(['failed', 'target_moved'])
    await expect(tipOf(at.gitDir, 'main')).rejects.toThrow()
  })

  it('takes the first commit of one of two Sessions, and refuses the other', async () => {
    const at = await make()
    const sessions = await Promise.all([Delivering.begin(test, at), Delivering.begin(test, at)])
    const reviews = await Promise.all(
      sessions.map(async (session, index) => {
        await writeFile(join(session.project, `f${index}`), 'x')
        return session.review()
      }),
    )
    const ends = await Promise.all(
      sessions.map((session, index) => session.publish({ revision: reviews[index]?.revision })),
    )
    expect(ends.map(end => end.status).toSorted()).toEqual(['failed', 'succeeded'])
    const won = ends.find(end => end.status === 'succeeded')
    const lost = ends.find(end => end.status === 'failed')
    expect(lost?.lastError).toEqual({ code: 'target_moved' })
    expect(await tipOf(at.gitDir, 'main')).toBe(won?.result?.commitSha)
  })

  it('begins on the branch that a Session names, which its first commit makes', async () => {
    const at = await make()
    const session = await Delivering.begin(test, at, { baseBranch: 'team/first' })
    expect(session.session.source).toMatchObject({ baseBranch: 'team/first', baseOid: emptyTreeOid })
    await writeFile(join(session.project, 'a'), 'a')
    const { result } = await session.publish()
    expect(result).toEqual({
      delivery: 'direct_branch',
      branch: 'team/first',
      commitSha: await tipOf(at.gitDir, 'team/first'),
    })
    const source = { grantId: at.grantId, repositoryId: at.repository.repositoryId }
    const create = (baseBranch: string) =>
      test.api.put(`/v1/sessions/${randomUUID()}`, { runtime: 'shell', source: { ...source, baseBranch } })
    expect(outcome(await create('nowhere'))).toBe('400 cloud_repository_branch_not_found')
  })

  it('begins on no branch that git would not make', async () => {
    const at = await make()
    const source = { grantId: at.grantId, repositoryId: at.repository.repositoryId }
    for (const baseBranch of ['a..b', '-x', 'HEAD', 'a b']) {
      const body = { runtime: 'shell', source: { ...source, baseBranch } }
      expect(outcome(await test.api.put(`/v1/sessions/${randomUUID()}`, body))).toBe('400 invalid_request')
    }
  })
})

it('gets no commit of a Session that was reset since the first one, which would delete its files unseen', async () => {
  const session = await Delivering.begin(test, await local())
  await session.shell('echo one > a')
  expect((await session.publish()).status).toBe('succeeded')
  await session.shell('rm a; echo two > b')
  await test.db.database.query(
    'update sessions set fresh_from_turn = turn_count - 1, first_run_started_at = now() where id = $1',
    [session.session.id],
  )
  expect(failure(await session.publish())).toEqual(['failed', 'target_moved'])
})

it.each(['main', 'develop'])(
  'pushes nothing if a first commit comes to %s between the check and the push',
  async branch => {
    const at = await github()
    const session = await Delivering.begin(test, at)
    await writeFile(join(session.project, 'a'), 'a')
    const { revision } = await session.review()
    server.fail({ when: /git-receive-pack/, answer: { status: 503 }, times: 1 })
    const publishing = session.publish({ revision })
    await until('a push that is left for later', async () => {
      const text = "select 1 from publications where session_id = $1 and status = 'attempted' and failures > 0"
      return (await test.db.database.query(text, [session.session.id])).rows.length > 0
    })
    const theirs = await firstCommit(at.gitDir, branch, 'README')
    expect(failure(await publishing)).toEqual(['failed', 'target_moved'])
    expect(await gitText(['for-each-ref', '--format=%(objectname) %(refname)'], { gitDir: at.gitDir })).toBe(
      `${theirs} refs/heads/${branch}`,
    )
  },
)

it('keeps a rule of the branch that the first commit would make', async () => {
  const at = await local()
  const host = new LocalHost(test.db.database, systemClock, join(test.dataDir, 'repositories'), () => test.url)
  await host.setRule({ account: at.account, repositoryId: at.repository.repositoryId }, 'main', { requiredChecks: [] })
  const session = await Delivering.begin(test, at)
  await writeFile(join(session.project, 'a'), 'a')
  expect(failure(await session.publish())).toEqual(['failed', 'branch_protected'])
})

it('says that a repository of SHA-256 cannot be worked on', async () => {
  const gitDir = await emptyRepository(join(test.dataDir, 'repositories'), 'new/sha256', 'main', [
    '--object-format=sha256',
  ])
  const host = new LocalHost(test.db.database, systemClock, join(test.dataDir, 'repositories'), () => test.url)
  const ref = await host.findRepository('new/sha256')
  const repository = { repositoryId: ref?.repositoryId ?? '', fullName: 'new/sha256' }
  const granted = { host: 'local', provider: 'local', account: 'local', repository, gitDir }
  const source = { grantId: await grant(test, granted), repositoryId: repository.repositoryId }
  const answer = await test.api.put(`/v1/sessions/${randomUUID()}`, { runtime: 'shell', source })
  expect(outcome(answer)).toBe('400 cloud_repository_branch_not_found')
  expect(answer.text).toContain('SHA-256')
})

it('does not take a repository for empty if only a tag holds its commits', async () => {
  const at = await local()
  const oid = await firstCommit(at.gitDir, 'gone', 'README')
  await runGit(['tag', 'v1', oid], { gitDir: at.gitDir })
  await runGit(['update-ref', '-d', 'refs/heads/gone'], { gitDir: at.gitDir })
  const source = { grantId: at.grantId, repositoryId: at.repository.repositoryId }
  const answer = await test.api.put(`/v1/sessions/${randomUUID()}`, { runtime: 'shell', source })
  expect(outcome(answer)).toBe('400 cloud_repository_branch_not_found')
})
