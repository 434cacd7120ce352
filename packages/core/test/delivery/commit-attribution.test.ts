import { execFileSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { mkdtempDisposable } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Repository, Session } from '@berth/contract'
import { systemClock } from '@berth/platform/kit/clock.ts'
import { addGrant } from '@berth/server/admin/grants.ts'
import { type Accounts, startAccounts } from '@berth/testing/accounts/accounts.ts'
import type { Api } from '@berth/testing/api/api.ts'
import { Delivering, grant } from '@berth/testing/git/delivering.ts'
import { sampleRepository } from '@berth/testing/git/repositories.ts'
import { outcome } from '@berth/testing/runs/outcome.ts'
import { databaseUrl, startTestService } from '@berth/testing/services/service.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { findOwnInstallation } from '../../src/accounts/installations/own-installation.ts'
import { gitText } from '../../src/git/run-git.ts'
import { LOCAL_ACCOUNT, LocalHost } from '../../src/git-hosts/local/local-host.ts'

const app = 'Acme Agents <agents@acme.example>'
const none = { dayUsd: null, monthUsd: null, runCostUsd: null, runTurns: null, runSeconds: null }

const stack = new AsyncDisposableStack()
let accounts: Accounts
let gitDir: string
let signers: string
beforeAll(async () => {
  const { path } = stack.use(await mkdtempDisposable(join(tmpdir(), 'berth-commits-')))
  const key = join(path, 'key')
  execFileSync('ssh-keygen', ['-q', '-t', 'ecdsa', '-N', '', '-C', '', '-f', key])
  signers = join(path, 'signers')
  writeFileSync(signers, `agents@acme.example ${readFileSync(`${key}.pub`, 'utf8')}`)
  const commits = { name: 'Acme Agents', email: 'agents@acme.example', signingKey: { env: 'COMMIT_KEY' } }
  writeFileSync(join(path, 'berth.json'), JSON.stringify({ commits }))
  const variables = {
    BERTH_ROLES: 'api,account,gateway,worker',
    BERTH_CONFIG: join(path, 'berth.json'),
    COMMIT_KEY: readFileSync(key, 'utf8'),
  }
  accounts = stack.use(await startAccounts({ variables }))
  gitDir = await sampleRepository(join(accounts.test.dataDir, 'repositories'))
})
afterAll(() => stack.disposeAsync())

const database = () => accounts.test.db.database

/** A Session on the organization's repository, which a person began. */
async function begin({ api }: { readonly api: Api }, organizationId: string): Promise<Delivering> {
  const variables = { DATABASE_URL: databaseUrl(accounts.test.db), BERTH_DATA_DIR: accounts.test.dataDir }
  if ((await findOwnInstallation(database(), organizationId)) === null) {
    await addGrant(variables, { organizationId, host: 'local', repositories: [] })
  }
  const { body } = await api.get<{ repositories: Repository[] }>('/cloud/repositories')
  const { grantId, repositoryId } = body.repositories[0] ?? {}
  const made = await api.put<{ session: Session }>(`/cloud/sessions/${randomUUID()}`, {
    runtime: 'shell',
    source: { grantId, repositoryId },
    initialTurn: { id: randomUUID(), message: 'true' },
  })
  return Delivering.of({ ...accounts.test, api }, made.body.session)
}

/** Changes a file and publishes it. @returns what the commit says */
async function published(at: Delivering, body = {}) {
  await at.shell(`echo ${randomUUID()} > new.txt`)
  const publication = await at.publish({ title: 'Change it', ...body })
  const sha = publication.result?.commitSha ?? publication.lastError?.code ?? ''
  const [author, committer, ...message] = (
    await gitText(['log', '-1', '--format=%an <%ae>%n%cn <%ce>%n%B', sha], { gitDir })
  ).split('\n')
  return { sha, author, committer, message: message.join('\n').trimEnd() }
}

/** Returns the words of git about the signature of a commit. */
function verify(sha: string): string {
  const args = ['--git-dir', gitDir, '-c', `gpg.ssh.allowedSignersFile=${signers}`, 'show', '--no-patch']
  return execFileSync('git', [...args, '--format=%G? %GS', sha], { stdio: ['ignore', 'pipe', 'pipe'] })
    .toString()
    .trim()
}

const choose = (api: Api, author: string, signOff: boolean) =>
  api.put('/cloud/settings', { ...none, commits: { author, signOff } })

describe('the commit of a Publication', () => {
  it('names the person who asked as the organization chooses, and the deployment commits and signs it', async () => {
    const { organizationId } = (await accounts.test.newTenant()).tenant
    const admin = await accounts.person({ organizationId, role: 'admin' })
    const colleague = await accounts.person({ organizationId })
    const at = await begin(admin, organizationId)
    const person = `Robin Marsh <${colleague.who.email}>`
    // It names whoever asks for the Publication, and not whoever began the Session.
    const theirs = await Delivering.of({ ...accounts.test, api: colleague.api }, at.session)

    const first = await published(theirs)
    expect(first).toMatchObject({ author: person, committer: app, message: 'Change it' })
    expect(verify(first.sha)).toBe('G agents@acme.example')

    await choose(admin.api, 'person', true)
    const signedOff = await published(theirs, { body: 'Because.\n\nFixes: #1\n' })
    expect(signedOff).toMatchObject({
      author: person,
      committer: app,
      message: `Change it\n\nBecause.\n\nFixes: #1\nSigned-off-by: ${person}`,
    })
    expect(verify(signedOff.sha)).toBe('G agents@acme.example')

    await choose(admin.api, 'app', true)
    const byApp = await published(theirs)
    expect(byApp).toMatchObject({
      author: app,
      committer: app,
      message: `Change it\n\nCo-authored-by: ${person}\nSigned-off-by: ${app}`,
    })
    const allowed = `gpg.ssh.allowedSignersFile=${signers}`
    execFileSync('git', ['--git-dir', gitDir, '-c', allowed, 'verify-commit', byApp.sha], { stdio: 'pipe' })

    // Emails stay in the commits alone.
    const { rows } = await database().query(
      'select author, commit_object from publications where organization_id = $1 group by 1, 2',
      [organizationId],
    )
    expect(rows).toEqual([{ author: null, commit_object: null }])
  })

  it('is by the deployment alone if an integration asked', async () => {
    const { test } = accounts
    const host = new LocalHost(database(), systemClock, join(test.dataDir, 'repositories'), () => test.url)
    const [repository] = (await host.listRepositories(LOCAL_ACCOUNT, { limit: 1, from: null })).repositories
    if (repository === undefined) throw new Error('no repository')
    const granted = { host: 'local', provider: 'local', account: LOCAL_ACCOUNT, repository, gitDir }
    const at = await Delivering.begin(test, { ...granted, grantId: await grant(test, granted) })
    expect(await published(at)).toMatchObject({ author: app, committer: app, message: 'Change it' })
  })
})

describe('the choice of an organization', () => {
  it("is its administrators' alone, for their own organization alone, and recorded", async () => {
    const [one, other] = [(await accounts.test.newTenant()).tenant, (await accounts.test.newTenant()).tenant]
    const admin = await accounts.person({ organizationId: one.organizationId, role: 'admin' })
    const stranger = await accounts.person({ organizationId: other.organizationId, role: 'admin' })
    const member = await accounts.person({ organizationId: one.organizationId })
    const read = async (api: Api) => Object((await api.get('/cloud/settings')).body)['commits']
    const [, type, blob] = readFileSync(signers, 'utf8').trim().split(' ')
    const initial = {
      ...{ author: 'person', signOff: false, signer: 'deployment', hostSigns: false },
      committer: { name: 'Acme Agents', email: 'agents@acme.example' },
      publicKey: `${type} ${blob}`,
    }
    expect(await read(admin.api)).toEqual(initial)
    expect(outcome(await choose(member.api, 'app', true))).toBe('403 insufficient_scope')
    expect(outcome(await choose(admin.api, 'nobody', true))).toBe('400 invalid_request')
    expect(outcome(await choose(admin.api, 'app', true))).toBe('200')
    await choose(admin.api, 'app', true)
    const byHost = { ...none, commits: { author: 'app', signOff: true, signer: 'host' } }
    const refused = await admin.api.put('/cloud/settings', byHost)
    expect(outcome(refused)).toBe('400 invalid_request')
    expect(refused.text).toContain('no Git host of this deployment signs commits')
    // A client that does not know of the choice leaves it as it is.
    await admin.api.put('/cloud/settings', { ...none, dayUsd: 5 })
    expect(await read(admin.api)).toEqual({ ...initial, author: 'app', signOff: true })
    expect(await read(stranger.api)).toEqual(initial)
    const template = '{verification}'
    const section = async (api: Api) => Object((await api.get('/cloud/settings')).body)['pullRequests'].section
    expect(await section(admin.api)).toBe(null)
    expect(outcome(await member.api.put('/cloud/settings', { pullRequestSection: template }))).toBe(
      '403 insufficient_scope',
    )
    const unknown = await admin.api.put('/cloud/settings', { pullRequestSection: '{verdict}' })
    expect([outcome(unknown), unknown.text.includes('names {verdict}, which stands for nothing')]).toEqual([
      '400 invalid_request',
      true,
    ])
    expect(outcome(await admin.api.put('/cloud/settings', { pullRequestSection: template }))).toBe('200')
    await admin.api.put('/cloud/settings', { ...none, dayUsd: 6 })
    expect([await section(admin.api), await section(stranger.api)]).toEqual([template, null])
    const follows = async (api: Api) => Object((await api.get('/cloud/settings')).body)['followUps']
    expect(outcome(await admin.api.put('/cloud/settings', { followUps: { label: 'agent', baseCommits: 20 } }))).toBe(
      '200',
    )
    expect(outcome(await admin.api.put('/cloud/settings', { followUps: { baseCommits: 30 } }))).toBe('200')
    const chosen = { label: 'agent', assignee: null, baseCommits: 30 }
    expect([await follows(admin.api), (await follows(stranger.api)).label]).toEqual([chosen, null])
    expect(outcome(await member.api.put('/cloud/settings', { followUps: { label: null } }))).toBe(
      '403 insufficient_scope',
    )
    const changes = await admin.api.get('/cloud/audit?action=organization.follow_ups_changed')
    expect(Object(changes.body)['entries']).toMatchObject([{ details: chosen }, { details: { baseCommits: 20 } }])
    const audit = await admin.api.get('/cloud/audit?action=organization.section_changed')
    expect(Object(audit.body)['entries']).toMatchObject([{ details: { section: template } }])
    const { body } = await admin.api.get('/cloud/audit?action=organization.commits_changed')
    expect(Object(body)['entries']).toMatchObject([
      { actor: { id: admin.who.personId }, details: { author: 'app', signOff: true, signer: 'deployment' } },
    ])
  })
})

it('ends the start if the key cannot sign, in words', async () => {
  await using dir = await mkdtempDisposable(join(tmpdir(), 'berth-commits-'))
  const key = join(dir.path, 'key')
  execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', 'sesame', '-f', key])
  const file = join(dir.path, 'berth.json')
  writeFileSync(file, JSON.stringify({ commits: { signingKey: { env: 'COMMIT_KEY' } } }))
  const variables = { BERTH_CONFIG: file, COMMIT_KEY: readFileSync(key, 'utf8') }
  await expect(startTestService({ variables })).rejects.toThrow(
    'commits.signingKey of the configuration file is sealed by a passphrase',
  )
})
