import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { verifyStatement } from '@berth/client'
import type { Artifact, Publication, SignedStatement, Statement, StatementKeySet } from '@berth/contract'
import { systemClock } from '@berth/platform/kit/clock.ts'
import { MasterKey, parseMasterKey } from '@berth/platform/storage/master-key.ts'
import { Environments } from '@berth/testing/environments/environments.ts'
import type { CrashMode } from '@berth/testing/faults/crash-point.ts'
import { DeliveryCrash } from '@berth/testing/faults/delivery-crash.ts'
import type { Delivering } from '@berth/testing/git/delivering.ts'
import { sampleRepository } from '@berth/testing/git/repositories.ts'
import { reviewedChange, takeOver } from '@berth/testing/git/reviewed-change.ts'
import { databaseUrl, startTestService, type TestService } from '@berth/testing/services/service.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { DeliveryContext } from '../../src/delivery/delivery-context.ts'
import { gitText } from '../../src/git/run-git.ts'
import { LOCAL_ACCOUNT, LocalHost } from '../../src/git-hosts/local/local-host.ts'
import { insertArtifact } from '../../src/sessions/artifacts/artifact-sql.ts'
import { publishedStatementKeys, statementSigner } from '../../src/sessions/statements/statement-keys.ts'

const berth = fileURLToPath(new URL('../../../cli/dist/berth.js', import.meta.url))
const stack = new AsyncDisposableStack()
let test: TestService
let context: DeliveryContext
let at: Delivering
let gitDir = ''
let revision = ''
let environmentId = ''
const verificationId = randomUUID()
const DAY_MS = 86_400_000

beforeAll(async () => {
  test = stack.use(await startTestService({ variables: { BERTH_ROLES: 'api' } }))
  const key = parseMasterKey(readFileSync(join(test.dataDir, 'master.key'), 'utf8').trim())
  if (key === undefined) throw new Error('no master key')
  Object.assign(test.db.database, { masterKey: new MasterKey(key) })
  const root = join(test.dataDir, 'repositories')
  gitDir = await sampleRepository(root)
  const host = new LocalHost(test.db.database, systemClock, root, () => test.url)
  const [repository] = (await host.listRepositories(LOCAL_ACCOUNT, { limit: 1, from: null })).repositories
  if (repository === undefined) throw new Error('no repository')
  const granted = { host: 'local', provider: 'local', account: LOCAL_ACCOUNT, repository, gitDir }
  const change = await reviewedChange(test, granted, stack)
  context = change.context
  at = change.at
  revision = change.review.revision
  const made = await new Environments(test.api).make({ checks: [{ name: 'tests', run: 'true' }] })
  environmentId = made.id
  await passVerification()
})
afterAll(() => stack.disposeAsync())

/** Records a passed verification of the revision with the output of its check, as a worker does. */
async function passVerification(): Promise<void> {
  const { id: session_id, organizationId } = at.session
  const { database } = test.db
  await database.query('update sessions set environment_id = $2 where id = $1', [session_id, environmentId])
  const [artifactId, created_at] = [randomUUID(), new Date()]
  const blob = await context.blobs.put(Buffer.from('a secret output'))
  const about = { run_id: null, kind: 'check_output', name: 'tests.log', media_type: 'text/plain' } as const
  await insertArtifact(database, organizationId, {
    ...{ session_id, id: artifactId, created_at, size_bytes: blob.sizeBytes, sha256: blob.sha256 },
    ...about,
  })
  const results = [{ name: 'tests', required: true, state: 'passed', exitCode: 0, durationMs: 12, artifactId }]
  await database.query(
    `insert into verifications (organization_id, session_id, id, request_hash, revision, tree, environment_id,
       environment_revision, checks_digest, state, results, requested_by_kind, requested_by_id, created_at, started_at, ended_at)
     values ($1, $2, $3, '', $4, $5, $6, 1, '', 'passed', $7, 'person', $3, now(), now(), now())`,
    [organizationId, session_id, verificationId, revision, '0'.repeat(40), environmentId, JSON.stringify(results)],
  )
}

async function publish(branch: string, strike = new DeliveryCrash(0, 'dies')): Promise<Publication> {
  const id = randomUUID()
  const body = { revision, title: 'A title that nobody signs', body: 'Nor this.', branch, verified: true }
  expect((await at.put(id, body)).status).toBe(201)
  await takeOver('publications', context, strike)
  return at.ended(id)
}

const readKeys = async () => (await test.api.get<StatementKeySet>('/.well-known/berth-keys.json')).body
const pathOf = ({ id }: Pick<Publication, 'id'>) => at.path(`/publications/${id}/statement`)

async function statementsOf(publicationId: string): Promise<readonly unknown[]> {
  const events = await test.api.events(at.session.id)
  return events.flatMap(({ type, data }) =>
    type === 'svc.artifact.created' && data['kind'] === 'statement' && data['publicationId'] === publicationId
      ? [data['artifactId']]
      : [],
  )
}

describe('a verified publication', () => {
  it('carries a signed statement on its commit and tree, with ids, results and digests and no content', async () => {
    const publication = await publish('verified')
    expect(publication).toMatchObject({
      status: 'succeeded',
      verificationId,
      requestedBy: { kind: 'app_installation', id: test.tenant.installationId },
    })
    const { text, body } = await test.api.get<SignedStatement>(pathOf(publication))
    const commit = publication.result?.commitSha ?? ''
    const tree = await gitText(['rev-parse', `${commit}^{tree}`], { gitDir })
    const verdict = await verifyStatement(text, await readKeys(), { commit, tree })
    expect(verdict).toMatchObject({ verified: true })
    const statement: Statement = JSON.parse(Buffer.from(body.payload, 'base64').toString())
    const runs = (await test.api.events(at.session.id)).flatMap(({ type, subject }) =>
      type === 'svc.run.completed' ? [subject.runId] : [],
    )
    const asker = { kind: 'app_installation', id: test.tenant.installationId }
    expect(statement.predicate).toMatchObject({
      session: { id: at.session.id },
      publication: { id: publication.id, revision, requestedBy: asker },
      runs: runs.map(id => ({ id, requestedBy: asker, status: 'completed' })),
      runtimes: [{ id: 'shell' }],
      models: [],
      cost: { usd: 0, complete: true },
      environment: { id: environmentId, revision: 1, digest: { sha256: expect.stringMatching(/^[0-9a-f]{64}$/) } },
      verification: { id: verificationId, checks: [{ name: 'tests', state: 'passed', exitCode: 0 }] },
      approvals: [],
    })
    const { last, digest } = statement.predicate.log
    const log = await test.api.get(at.path(`/events/digest?at=${last}`))
    expect(log.body).toMatchObject({ digest: digest?.sha256 })
    const [check] = statement.predicate.verification.checks
    expect(check?.output?.sha256).toHaveLength(64)
    const payload = JSON.stringify(statement)
    for (const content of ['nobody signs', 'Nor this', 'a secret output', 'true"'])
      expect(payload).not.toContain(content)
    const artifactId = publication.statement?.artifactId
    expect(await statementsOf(publication.id)).toEqual([artifactId])
    const artifact = await test.api.get<{ artifact: Artifact }>(at.path(`/artifacts/${artifactId}`))
    expect(artifact.body.artifact).toMatchObject({
      kind: 'statement',
      name: `statement-${commit.slice(0, 12)}.intoto.json`,
    })
    expect((await test.api.get(at.path(`/artifacts/${artifactId}/content`))).text).toBe(text)
    const bundle = await test.api.get(`${pathOf(publication)}?format=sigstore`)
    expect(bundle.body).toMatchObject({ dsseEnvelope: body })
    expect(await verifyStatement(bundle.text, await readKeys(), { commit, tree })).toEqual(verdict)
  })

  it('is found by its commit, by its own organization alone', async () => {
    const publication = await publish('found')
    const path = `/v1/statements?commit=${publication.result?.commitSha}`
    const found = { sessionId: at.session.id, publicationId: publication.id }
    expect((await test.api.get(path)).body).toMatchObject({ statements: [found] })
    const { api } = await test.newTenant()
    expect((await api.get(path)).body).toEqual({ statements: [] })
    expect((await api.get(pathOf(publication))).status).toBe(404)
  })

  it.each<CrashMode>(['dies', 'fails', 'unanswered'])('is signed once, wherever its worker stops: %s', async mode => {
    const whole = new DeliveryCrash(0, mode)
    await publish(`whole-${mode}`, whole)
    const opened = whole.steps.indexOf('open a pull request')
    expect(whole.steps.slice(opened + 1)).toEqual(['put a blob', 'put a blob', 'commit'])
    for (let step = opened + 1; step <= whole.steps.length; step++) {
      const publication = await publish(`${mode}-${step}`, new DeliveryCrash(step, mode))
      expect([step, publication.status]).toEqual([step, 'succeeded'])
      expect(await statementsOf(publication.id)).toEqual([publication.statement?.artifactId])
      const { text } = await test.api.get(pathOf(publication))
      const commit = publication.result?.commitSha ?? ''
      expect(await verifyStatement(text, await readKeys(), { commit })).toMatchObject({ verified: true })
    }
  })

  it('is refused once the check has failed, and one that was not verified carries nothing', async () => {
    await test.db.database.query("update verifications set state = 'failed' where id = $1", [verificationId])
    const id = randomUUID()
    expect((await at.put(id, { revision, title: 't', branch: 'refused', verified: true })).status).toBe(409)
    expect((await at.put(id, { revision, title: 't', branch: 'unverified' })).status).toBe(201)
    await takeOver('publications', context, new DeliveryCrash(0, 'dies'))
    const publication = await at.ended(id)
    expect([publication.status, publication.statement, publication.verificationId]).toEqual([
      'succeeded',
      undefined,
      undefined,
    ])
    expect((await test.api.get(pathOf(publication))).status).toBe(404)
    await test.db.database.query("update verifications set state = 'passed' where id = $1", [verificationId])
  })
})

describe('the keys of statements', () => {
  const db = () => test.db.database
  const keysAt = async (now: Date) => publishedStatementKeys({ db: db(), clock: { now: () => now } })()

  it('are renewed ahead of their time by one process of many, and verify what they have signed for good', async () => {
    const publication = await publish('rotated')
    const { text } = await test.api.get(pathOf(publication))
    const later = (days: number) => new Date(Date.now() + days * DAY_MS)
    const before = await statementSigner(db(), later(0))
    expect((await keysAt(later(28))).keys).toHaveLength(1)
    const ahead = await Promise.all(Array.from({ length: 8 }, () => keysAt(later(29.5))))
    expect(new Set(ahead.map(({ keys }) => JSON.stringify(keys))).size).toBe(1)
    expect(ahead[0]?.keys).toHaveLength(2)
    expect((await statementSigner(db(), later(29.5))).kid).toBe(before.kid)
    const after = await statementSigner(db(), later(30.5))
    expect(after.kid).toBe(ahead[0]?.keys[1]?.kid)
    const { rows } = await db().query<{ kid: string }>('select kid from statement_keys where sealed_private is null')
    expect(rows).toEqual([{ kid: before.kid }])
    expect(await verifyStatement(text, await keysAt(later(30.5)))).toMatchObject({
      verified: true,
      key: { kid: before.kid },
    })
    // A deployment that slept for a year signs by a key that nobody has seen before.
    expect((await keysAt(later(400))).keys).toHaveLength(3)
    await db().query('delete from statement_keys where kid <> $1', [before.kid])
  })

  it('begin with one, although the clocks of the first processes differ', async () => {
    await db().query('delete from statement_keys')
    const now = Date.now()
    const clocks = [30, 0, 12, 45, 7, 21, 3, 59].map(seconds => new Date(now - seconds * 1000))
    const signers = await Promise.all(clocks.map(at => statementSigner(db(), at)))
    expect(new Set(signers.map(({ kid }) => kid)).size).toBe(1)
    expect((await keysAt(new Date(now - 50_000))).keys).toHaveLength(1)
  })

  it('are taken back by `berth admin statement-key`: their statements count no more, and another key signs', async () => {
    await db().query('delete from statement_keys')
    const publication = await publish('revoked')
    const now = new Date()
    const { text } = await test.api.get(pathOf(publication))
    const { kid } = await statementSigner(db(), now)
    const env = { DATABASE_URL: databaseUrl(test.db), BERTH_DATA_DIR: test.dataDir }
    const command = async (...args: string[]) =>
      (await promisify(execFile)(process.execPath, [berth, 'admin', 'statement-key', ...args], { env })).stdout
    expect(await command('list')).toMatch(new RegExp(`^signs    ${kid}  from \\S+Z until \\S+Z\n$`))
    expect(await command('revoke', kid)).toContain(`${kid} is revoked`)
    await expect(command('revoke', kid)).rejects.toMatchObject({
      stderr: expect.stringContaining('`berth admin statement-key list` shows them'),
    })
    expect(await verifyStatement(text, await keysAt(now))).toMatchObject({ verified: false, reason: 'key_revoked' })
    const next = await statementSigner(db(), now)
    expect(next.kid).not.toBe(kid)
    const listed = (await command('list', '--json'))
      .trim()
      .split('\n')
      .map(line => JSON.parse(line))
    const states = Object.fromEntries(listed.map(key => [key.kid, key.state]))
    expect(states).toEqual({ [kid]: 'revoked', [next.kid]: 'signs' })
    const { rows } = await db().query<{ sealed: boolean; audited: boolean }>(
      `select sealed_private is not null as sealed, exists (
         select from audit_log where action = 'statement_key.revoked' and target = 'key/' || kid) as audited
       from statement_keys where kid = $1`,
      [kid],
    )
    expect(rows).toEqual([{ sealed: false, audited: true }])
  })
})
