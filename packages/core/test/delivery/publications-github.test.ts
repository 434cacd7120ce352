import { randomUUID } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Delivering, grant } from '@berth/testing/git/delivering.ts'
import { GitHubServer, type ServedRepository } from '@berth/testing/git/github-server.ts'
import { fileAt, sampleRepository, tipOf } from '@berth/testing/git/repositories.ts'
import { startTestService, type TestService } from '@berth/testing/services/service.ts'
import { until } from '@berth/testing/until.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

let test: TestService
let server: GitHubServer
beforeAll(async () => {
  server = await GitHubServer.start()
  const gitHosts = [{ kind: 'github', baseUrl: server.url, appId: server.appId, privateKey: server.privateKey }]
  // bound: a pause between two looks
  test = await startTestService({ config: { gitHosts }, fixed: { mergeCheckMs: 1000 } })
})
afterAll(async () => {
  await test[Symbol.asyncDispose]()
  await server[Symbol.asyncDispose]()
})

let next = 300
async function begin(): Promise<Delivering & { gitDir: string; served: ServedRepository }> {
  const id = next++
  const fullName = `o/r${id}`
  const gitDir = await sampleRepository(join(test.dataDir, 'served'), fullName)
  const served = server.addRepository({ id, fullName, gitDir, installations: [String(id)] })
  const host = `github:${new URL(server.url).host}`
  const granted = {
    host,
    provider: 'github',
    account: String(id),
    repository: { repositoryId: String(id), fullName },
    gitDir,
  }
  const at = await Delivering.begin(test, { ...granted, grantId: await grant(test, granted) })
  await writeFile(join(at.project, 'new'), 'new\n')
  return Object.assign(at, { gitDir, served })
}

/** Lets the time of a Publication run out once its host has failed. */
async function spendTime(branch: string): Promise<void> {
  const { database } = test.db
  await until('a publication that is left for later', async () => {
    const { rows } = await database.query('select 1 from publications where branch = $1 and failures > 0', [branch])
    return rows.length > 0
  })
  await database.query("update publications set created_at = created_at - interval '1 day' where branch = $1", [branch])
}

describe('a delivery to a host over the network', () => {
  it('is reviewed, pushed, opened and merged, and survives a rename', async () => {
    const at = await begin()
    at.served.fullName = `o/renamed-${at.served.id}`
    const publication = await at.publish({ draft: false, body: 'Because.' })
    const branch = `svc/${at.session.id}`
    expect(publication).toMatchObject({ status: 'succeeded', result: { branch, pullRequest: { reused: false } } })
    expect(publication.result?.commitSha).toBe(await tipOf(at.gitDir, branch))
    await writeFile(join(at.project, 'more'), 'more\n')
    const again = await at.publish()
    expect(again.result?.pullRequest).toEqual({ ...publication.result?.pullRequest, reused: true })
    expect(await at.merge(publication.id)).toMatchObject({ lastError: { code: 'head_moved' } })
    const merge = await at.merge(again.id, { strategy: 'squash', commitTitle: 'All of it' })
    expect(merge).toMatchObject({ status: 'succeeded', mergedCommitSha: await tipOf(at.gitDir, 'main') })
    expect(await fileAt(at.gitDir, 'main', 'more')).toBe('more')
  })

  it('fails by name if the host refuses, and is retried if the host cannot answer yet', async () => {
    const at = await begin()
    const { revision } = await at.review()
    const path = new RegExp(`^POST /repositories/${at.served.id}/pulls`)
    const git = new RegExp(`^\\w+ /o/r${at.served.id}.git/.*git-receive-pack`)
    const branches = new RegExp(`^GET /repositories/${at.served.id}/branches`)
    const cases: readonly [RegExp, number, string][] = [
      [path, 422, 'pull_request_refused'],
      [path, 403, 'repository_permission_denied'],
      [git, 403, 'repository_permission_denied'],
      [branches, 401, 'git_host_unauthorized'],
    ]
    for (const [when, status, code] of cases) {
      const branch = `b-${randomUUID()}`
      server.fail({ when, answer: { status, body: { message: 'no' } } })
      const publication = await at.publish({ revision, branch })
      server.mend()
      expect([status, publication.status, publication.lastError?.code]).toEqual([status, 'failed', code])
    }
    server.fail({ when: branches, answer: { status: 500 } })
    const away = at.publish({ revision, branch: 'away' })
    await spendTime('away')
    expect(await away).toMatchObject({ status: 'failed', lastError: { code: 'git_host_unavailable' } })
    server.mend()
    server.fail({ when: branches, answer: { status: 503, headers: { 'retry-after': '1' } }, times: 1 })
    expect((await at.publish({ revision, branch: 'late' })).status).toBe('succeeded')
    at.served.protected.add('main')
    const direct = await at.publish({ revision, delivery: 'direct_branch' })
    expect(direct).toMatchObject({ lastError: { code: 'branch_protected' } })
  })

  it('waits for a pull request to become ready, and finds a merge whose answer was lost', async () => {
    const at = await begin()
    const { id } = await at.publish()
    at.served.protected.add('main')
    at.served.blocked = true
    expect(await at.merge(id)).toMatchObject({ lastError: { code: 'merge_not_ready' } })
    const waiting = randomUUID()
    await at.putMerge(id, waiting, { strategy: 'merge', mode: 'when_ready' })
    await until('a waiting merge', async () => (await at.readMerge(id, waiting)).status === 'waiting')
    at.served.blocked = false
    const merged = await until('a merge', async () => {
      const merge = await at.readMerge(id, waiting)
      return merge.completedAt !== undefined && merge
    })
    expect(merged).toMatchObject({ status: 'succeeded', mergedCommitSha: await tipOf(at.gitDir, 'main') })
    expect(await at.merge(id)).toMatchObject({ status: 'succeeded', mergedCommitSha: merged.mergedCommitSha })
  })
})
