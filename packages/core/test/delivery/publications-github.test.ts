import { randomUUID } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Verification } from '@berth/contract'
import { Environments } from '@berth/testing/environments/environments.ts'
import { Delivering, grant } from '@berth/testing/git/delivering.ts'
import { GitHubServer, type ServedRepository } from '@berth/testing/git/github-server.ts'
import { fileAt, sampleRepository, tipOf } from '@berth/testing/git/repositories.ts'
import { startTestService, type TestService } from '@berth/testing/services/service.ts'
import { until } from '@berth/testing/until.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { setSectionTemplate } from '../../src/accounts/organizations/pull-request-section.ts'

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
async function begin(more: object = {}): Promise<Delivering & { gitDir: string; served: ServedRepository }> {
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
  const source = { grantId: await grant(test, granted), repositoryId: String(id) }
  const session = await test.api.createSession({ runtime: 'shell', source, ...more }, 'true')
  const at = await Delivering.of(test, session)
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

describe('the pull request of a publication', () => {
  /** Has a revision verified, and waits for the end. */
  async function verify(at: Delivering): Promise<string> {
    const { revision } = await at.review()
    const path = at.path(`/repository/verifications/${randomUUID()}`)
    expect((await at.api.put(path, { revision })).status).toBe(201)
    await until('the verification', async () => {
      const { body } = await at.api.get<{ verification: Verification }>(path)
      return body.verification.completedAt !== undefined
    })
    return revision
  }

  it('ends with the evidence, which a later publication replaces, and a check run points to the page', async () => {
    const checks = [
      { name: '@acme `lint`', run: 'true' },
      { name: 'test', run: 'test ! -e broken', required: true },
    ]
    const { id } = await new Environments(test.api).make({ name: 'Checks <b>', checks })
    const at = await begin({ environment: { id } })
    const revision = await verify(at)
    const first = await at.publish({ revision, verified: true, body: 'Because.\n```sh\nls' })
    const [pull] = server.pulls.filter(({ repository }) => repository === at.served.id)
    const review = `${test.url}/sessions/${at.session.id}/review`
    const statement = `${test.url}/v1/sessions/${at.session.id}/publications/${first.id}/statement`
    const where = (tree: string) => `on tree \`${tree}\`, in a fresh sandbox of \`Checks <b>\`, revision 1.`
    const treeOf = async (of: string) =>
      String(
        (await at.api.get<{ review: { headTree: string } }>(at.path(`/repository/review?revision=${of}`))).body.review
          .headTree,
      ).slice(0, 12)
    const lines = (pull?.body ?? '').split('\n')
    expect(lines.slice(0, 5)).toEqual(['Because.', '\\`\\`\\`sh', 'ls', '', '<!-- berth:evidence -->'])
    expect(lines.slice(6).filter(line => !/secs|exit/.test(line))).toEqual([
      '---',
      '',
      `**Verified by Berth**: 2 of 2 checks passed ${where(await treeOf(revision))}`,
      '- Signals: none',
      expect.stringMatching(/^- Published by `[^`]+`; the agent asked nobody for approval$/),
      '- Models: none',
      `- [Review and log](${review}) · [Signed statement](${statement})`,
      '',
      '<!-- /berth:evidence -->',
    ])
    expect(lines.filter(line => /exit/.test(line))).toEqual([
      expect.stringMatching(/^- `@acme ’lint’`: passed \(exit 0, \d+ s\)$/),
      expect.stringMatching(/^- `test`: passed \(exit 0, \d+ s\)$/),
    ])
    expect(lines.length - lines.indexOf('<!-- berth:evidence -->')).toBeLessThanOrEqual(20)
    const runs = () => server.talk.checkRuns.filter(({ repository }) => repository === at.served.id)
    const name = 'Berth: verified'
    const own = { name, details_url: review, external_id: `berth:publication:${first.id}`, status: 'completed' }
    expect(runs()).toMatchObject([
      { ...own, head_sha: first.result?.commitSha, conclusion: 'success', output: { title: '2 of 2 checks passed' } },
    ])

    if (pull !== undefined) pull.body += '\n\nA word of a person.'
    await writeFile(join(at.project, 'broken'), 'it is')
    const later = await at.publish({ revision: await verify(at) })
    expect(later.result?.pullRequest).toMatchObject({ reused: true })
    const body = pull?.body ?? ''
    expect(body.split('<!-- berth:evidence -->')).toHaveLength(2)
    expect(body).toMatch(/^Because\.[\s\S]*A word of a person\.\n\n<!-- berth:evidence -->/)
    expect(body).toContain('**Not verified by Berth**: 1 of 2 checks passed')
    expect(body).toMatch(/- `test`: failed \(exit 1, \d+ s\)/)
    expect(body).not.toContain('Signed statement')
    expect(runs().map(({ conclusion }) => conclusion)).toEqual(['success', 'failure'])
    expect(runs()[1]?.head_sha).toBe(later.result?.commitSha)
  })

  it('has the section that its organization wants, and arrives even if the host refuses a part of the evidence', async () => {
    const { id } = await new Environments(test.api).make({ checks: [{ name: 'a', run: 'true' }] })
    const at = await begin({ environment: { id } })
    const { database } = test.db
    await setSectionTemplate(database, test.tenant.organizationId, 'Ours: {models}')
    const first = await at.publish({ body: 'Why.' })
    const [pull] = server.pulls.filter(({ repository }) => repository === at.served.id)
    expect(pull?.body).toBe('Why.\n\n<!-- berth:evidence -->\n\nOurs: - Models: none\n\n<!-- /berth:evidence -->')
    await setSectionTemplate(database, test.tenant.organizationId, null)
    await writeFile(join(at.project, 'new'), 'again')
    server.fail({ when: new RegExp(`^PATCH /repositories/${at.served.id}/pulls`), answer: { status: 403 } })
    server.fail({ when: new RegExp(`^POST /repositories/${at.served.id}/check-runs`), answer: { status: 403 } })
    const refused = await at.publish({ revision: await verify(at) })
    server.mend()
    expect([refused.status, refused.result?.pullRequest?.number]).toEqual([
      'succeeded',
      first.result?.pullRequest?.number,
    ])
    expect(pull?.body).toContain('Ours:')
    await setSectionTemplate(database, test.tenant.organizationId, '')
    await writeFile(join(at.project, 'new'), 'last')
    server.fail({ when: new RegExp(`^PATCH /repositories/${at.served.id}/pulls`), answer: { status: 503 }, times: 1 })
    expect((await at.publish()).status).toBe('succeeded')
    expect(pull?.body).toBe('Why.')
    await setSectionTemplate(database, test.tenant.organizationId, null)
  })
})
