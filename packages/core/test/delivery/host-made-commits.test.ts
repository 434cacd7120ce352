import { randomUUID } from 'node:crypto'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Publication, Repository, Session } from '@berth/contract'
import { addGrant } from '@berth/server/admin/grants.ts'
import { type Accounts, startAccounts } from '@berth/testing/accounts/accounts.ts'
import type { Api } from '@berth/testing/api/api.ts'
import { Delivering } from '@berth/testing/git/delivering.ts'
import { gitHostConfig, hostIdOf } from '@berth/testing/git/git-host-config.ts'
import { GitHubServer } from '@berth/testing/git/github-server.ts'
import { commitTo, emptyRepository, sampleRepository, tipOf } from '@berth/testing/git/repositories.ts'
import { outcome } from '@berth/testing/runs/outcome.ts'
import { databaseUrl } from '@berth/testing/services/service.ts'
import { until } from '@berth/testing/until.ts'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { gitText } from '../../src/git/run-git.ts'

const none = { dayUsd: null, monthUsd: null, runCostUsd: null, runTurns: null, runSeconds: null }
const stack = new AsyncDisposableStack()
let server: GitHubServer
let accounts: Accounts
beforeAll(async () => {
  server = stack.use(await GitHubServer.start())
  const variables = { BERTH_ROLES: 'api,account,gateway,worker' }
  accounts = stack.use(await startAccounts({ config: { gitHosts: [gitHostConfig(server)] }, variables }))
})
afterAll(() => stack.disposeAsync())
afterEach(() => {
  server.mend()
  Object.assign(server.commits, { verification: { verified: true, reason: 'valid' }, otherTree: null })
})

const choose = (api: Api, signer: string, signOff = false) =>
  api.put('/cloud/settings', { ...none, commits: { author: 'person', signOff, signer } })

let next = 900
/** A Session of a person, whose organization has GitHub sign, with a new file in its repository. */
async function begin({ empty = false, local = false } = {}) {
  const { test } = accounts
  const id = next++
  const fullName = `o/r${id}`
  const root = join(test.dataDir, local ? 'repositories' : 'served')
  const gitDir = empty ? await emptyRepository(root, fullName) : await sampleRepository(root, fullName)
  const served = local ? null : server.addRepository({ id, fullName, gitDir, installations: [String(id)] })
  const { organizationId } = (await test.newTenant()).tenant
  const { api, who } = await accounts.person({ organizationId, role: 'admin' })
  expect(outcome(await choose(api, 'host'))).toBe('200')
  const on = local ? { host: 'local', repositories: [fullName] } : { host: hostIdOf(server), account: String(id) }
  const variables = { DATABASE_URL: databaseUrl(test.db), BERTH_DATA_DIR: test.dataDir }
  await addGrant(variables, { organizationId, repositories: [], ...on })
  const { body } = await api.get<{ repositories: Repository[] }>('/cloud/repositories')
  const { grantId, repositoryId } = body.repositories.find(found => found.fullName === fullName) ?? {}
  const made = await api.put<{ session: Session }>(`/cloud/sessions/${randomUUID()}`, {
    runtime: 'shell',
    source: { grantId, repositoryId },
    initialTurn: { id: randomUUID(), message: 'true' },
  })
  const at = await Delivering.of({ ...test, api }, made.body.session)
  await writeFile(join(at.project, 'new'), 'new\n')
  return Object.assign(at, { gitDir, served, who })
}

type Begun = Awaited<ReturnType<typeof begin>>

/** Returns what a commit holds, and git's letter for its signature. */
async function commitAt(gitDir: string, oid: string) {
  const [tree, parents, author, committer, ...message] = (
    await gitText(['log', '-1', '--format=%T%n%P%n%an <%ae>%n%cn%n%B', oid], { gitDir })
  ).split('\n')
  const signature = await server.commits.verify(gitDir, oid)
  return { tree, parents, author, committer, message: message.join('\n').trimEnd(), signature }
}

const failure = ({ status, lastError }: Publication) => [status, lastError?.code]
const untilDeferred = ({ session }: Begun) =>
  until('a publication that is left for later', async () => {
    const text = "select 1 from publications where session_id = $1 and status = 'attempted' and failures > 0"
    return (await accounts.test.db.database.query(text, [session.id])).rows.length > 0
  })
const drafts = (gitDir: string) => gitText(['for-each-ref', 'refs/berth/'], { gitDir })

async function expectUntouched({ gitDir, session, baseOid }: Begun): Promise<void> {
  expect(await drafts(gitDir)).toBe('')
  await expect(tipOf(gitDir, `svc/${session.id}`)).rejects.toThrow()
  expect(await tipOf(gitDir, 'main')).toBe(baseOid)
}

/** Refuses pushes of unsigned commits to any branch, as a rule of GitHub does. */
async function requireSignatures(gitDir: string): Promise<void> {
  const hook = join(gitDir, 'hooks/pre-receive')
  await mkdir(dirname(hook), { recursive: true })
  const script = [
    '#!/bin/sh',
    'while read -r old new ref; do',
    '  case "$ref" in refs/heads/*) git cat-file commit "$new" | grep -q ^gpgsig || {',
    '    echo "error: GH013: Repository rule violations found. Commits must have verified signatures." >&2',
    '    exit 1',
    '  } ;; esac',
    'done',
  ]
  await writeFile(hook, `${script.join('\n')}\n`, { mode: 0o755 })
}

describe('a commit that the host makes', () => {
  it('is the reviewed tree on the commit that it builds on, by the app, signed, once', async () => {
    const at = await begin()
    await requireSignatures(at.gitDir)
    const person = `Robin Marsh <${at.who.email}>`
    const review = await at.review()
    const before = server.commits.made.length
    const first = await at.publish({ body: 'Because.' })
    expect(first).toMatchObject({ status: 'succeeded', result: { pullRequest: { reused: false } } })
    const tip = await tipOf(at.gitDir, `svc/${at.session.id}`)
    expect(first.result?.commitSha).toBe(tip)
    expect(server.commits.made.slice(before)).toEqual([tip])
    const bot = { author: 'berth[bot] <7+berth[bot]@users.noreply.github.com>', committer: 'GitHub', signature: 'G' }
    expect(await commitAt(at.gitDir, tip)).toEqual({
      ...bot,
      tree: review.headTree,
      parents: at.baseOid,
      message: `Change it\n\nBecause.\n\nCo-authored-by: ${person}`,
    })

    await choose(at.api, 'host', true)
    await at.shell('mkdir deep; echo more > deep/more; rm new; ln -s deep link')
    const again = await at.publish()
    expect(again).toMatchObject({ status: 'succeeded', result: { pullRequest: { reused: true } } })
    expect(await commitAt(at.gitDir, again.result?.commitSha ?? '')).toEqual({
      ...bot,
      tree: (await at.review()).headTree,
      parents: tip,
      message: `Change it\n\nCo-authored-by: ${person}\nSigned-off-by: Berth <berth@localhost>`,
    })
    expect(await at.publish()).toMatchObject({ result: { commitSha: again.result?.commitSha } })
    expect(server.commits.made.length).toBe(before + 2)
    expect(await drafts(at.gitDir)).toBe('')
    expect(await at.merge(again.id)).toMatchObject({ status: 'succeeded' })

    // The deployment has no key, so the same rule refuses its commits.
    await choose(at.api, 'deployment')
    await at.shell('echo unsigned > new')
    expect(failure(await at.publish({ branch: 'other' }))).toEqual(['failed', 'branch_protected'])
  })

  it('goes to the target directly, unless that has moved or is protected', async () => {
    const at = await begin()
    const first = await at.publish({ delivery: 'direct_branch' })
    const tip = await tipOf(at.gitDir, 'main')
    expect(first.result).toEqual({ delivery: 'direct_branch', branch: 'main', commitSha: tip })
    expect(await commitAt(at.gitDir, tip)).toMatchObject({ parents: at.baseOid, signature: 'G' })

    await at.shell('echo more > more')
    const { revision } = await at.review()
    // Somebody pushes after the Publication has looked at the branch, and left a draft that could not be removed.
    const update = join(at.gitDir, 'hooks/update')
    await mkdir(dirname(update), { recursive: true })
    await writeFile(update, `#!/bin/sh\n! expr "$3" : '0*$' >&2\n`, { mode: 0o755 })
    server.fail({ when: /git\/commits$/, answer: { status: 503 } })
    const publishing = at.publish({ revision, delivery: 'direct_branch' })
    await untilDeferred(at)
    server.fail({ when: /./, answer: { status: 503 } })
    await rm(update)
    const theirs = await commitTo(at.gitDir, 'main', tip, { theirs: 'x' })
    expect(await drafts(at.gitDir)).toContain('refs/berth/drafts/')
    server.mend()
    // The draft cannot be removed at once.
    server.fail({ when: /info\/refs/, answer: { status: 503 }, times: 1 })
    expect(failure(await publishing)).toEqual(['failed', 'target_moved'])
    expect(await tipOf(at.gitDir, 'main')).toBe(theirs)
    expect(await drafts(at.gitDir)).toBe('')
    at.served?.protected.add('main')
    expect(failure(await at.publish({ revision, delivery: 'direct_branch' }))).toEqual(['failed', 'branch_protected'])
  })

  it('is refused in words unless the host says that it is verified', async () => {
    const at = await begin()
    const { revision } = await at.review()
    server.commits.verification = { verified: false, reason: 'unsigned' }
    expect(failure(await at.publish({ revision }))).toEqual(['failed', 'commit_not_signed'])
    server.commits.verification = { verified: false, reason: 'bad_email' }
    expect(failure(await at.publish({ revision }))).toEqual(['failed', 'commit_not_signed'])
    await expectUntouched(at)
  })

  it('is no other than the one that was asked for', async () => {
    const at = await begin()
    server.commits.otherTree = await gitText(['rev-parse', `${at.baseOid}^{tree}`], { gitDir: at.gitDir })
    expect(failure(await at.publish())).toEqual(['failed', 'git_host_refused'])
    await expectUntouched(at)
  })

  it.each([
    [403, 'repository_permission_denied'],
    [422, 'git_host_refused'],
  ])('ends the publication if the host answers %i', async (status, code) => {
    const at = await begin()
    server.fail({ when: /git\/commits$/, answer: { status } })
    expect(failure(await at.publish())).toEqual(['failed', code])
    await expectUntouched(at)
  })

  it.each([
    ['cannot look at signatures', null],
    ['answers by half', 'half'],
    ['is away', { status: 503 }],
  ] as const)('is made later if the host %s', async (_, answer) => {
    const at = await begin()
    const { revision } = await at.review()
    if (answer === null) server.commits.verification = { verified: false, reason: 'gpgverify_unavailable' }
    else server.fail({ when: /git\/commits$/, answer })
    const publishing = at.publish({ revision })
    await untilDeferred(at)
    server.mend()
    server.commits.verification = { verified: true, reason: 'valid' }
    const { status, result } = await publishing
    expect(status).toBe('succeeded')
    const tip = await tipOf(at.gitDir, `svc/${at.session.id}`)
    expect(result).toMatchObject({ commitSha: tip, pullRequest: { reused: false } })
    expect(await commitAt(at.gitDir, tip)).toMatchObject({ parents: at.baseOid, signature: 'G' })
    expect(await drafts(at.gitDir)).toBe('')
  })

  it('is refused in words by a host that signs none, and for the first commit of a repository', async () => {
    const local = await begin({ local: true })
    expect(failure(await local.publish())).toEqual(['failed', 'commit_not_signed'])
    await expectUntouched(local)
    const empty = await begin({ empty: true })
    expect(failure(await empty.publish())).toEqual(['failed', 'commit_not_signed'])
    expect(await gitText(['for-each-ref'], { gitDir: empty.gitDir })).toBe('')
    await choose(empty.api, 'deployment')
    expect(await empty.publish()).toMatchObject({ status: 'succeeded', result: { branch: 'main' } })
    await choose(empty.api, 'host')
    await empty.shell('echo more > more')
    const later = await empty.publish()
    expect(await commitAt(empty.gitDir, later.result?.commitSha ?? '')).toMatchObject({
      parents: await tipOf(empty.gitDir, 'main'),
      signature: 'G',
    })
  })
})
