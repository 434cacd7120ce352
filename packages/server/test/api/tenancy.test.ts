import { randomUUID } from 'node:crypto'
import {
  accessCapability,
  type Capability,
  capabilities,
  type GuardedOperationId,
  guardedOperationIds,
  guardedOperationOf,
  type Session,
} from '@berth/contract'
import { announceHost } from '@berth/core/runtimes/runtime-hosts.ts'
import { credentialDigest } from '@berth/platform/storage/master-key.ts'
import { Api } from '@berth/testing/api/api.ts'
import { createInstallation, type Tenant } from '@berth/testing/api/tenant.ts'
import { startTestService, type TestService } from '@berth/testing/services/service.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

let test: TestService
beforeAll(async () => {
  test = await startTestService({ variables: { BERTH_ROLES: 'api' } })
  await announceHost(
    test.db.database,
    { id: 'a-host', driver: 'bubblewrap', runtimes: [], patienceMs: 300_000, packagesFault: null },
    new Date(),
  )
})
afterAll(() => test[Symbol.asyncDispose]())

/** A valid body for each operation that takes one; the contract's table gives only its shape. */
const bodies: { readonly [Id in GuardedOperationId]?: object } = {
  createSession: {},
  updateSession: { title: 'taken over' },
  submitTurn: { message: 'taken over' },
  forkSession: {},
  createPublication: { revision: '0'.repeat(64), title: 'taken over' },
  createVerification: { revision: '0'.repeat(64) },
  createMerge: { strategy: 'merge' },
  putFollowUp: {},
  activateRuntimeReleaseProbe: { engine: { sha256: 'a'.repeat(64) } },
  decideInteraction: { requestId: 'taken', choice: 'allow_once', idempotencyKey: 'over' },
  putEnvironment: { document: { name: 'taken over' } },
  putEnvironmentSecret: { value: 'taken over' },
  setDefaultEnvironment: { id: null },
  startEnvironmentTrial: {},
  callTools: { jsonrpc: '2.0', id: 1, method: 'ping' },
  reviewLocalPull: { state: 'approved' },
  putTrigger: { name: 'taken over', message: 'taken over' },
  putTriggerDelivery: {},
  replaceTriggerSecret: {},
}

/** Operations that installations may call; the others are for people alone. */
const forInstallations = guardedOperationIds.filter(id => guardedOperationOf(id).principal !== 'person')
const forPeople = guardedOperationIds.filter(id => !forInstallations.includes(id))
const sessionScoped = forInstallations.filter(id => guardedOperationOf(id).path.includes('{sessionId}'))

/** Returns the capabilities of which an operation needs one besides product access; it names the first. */
function capabilitiesOf(id: GuardedOperationId): readonly [Capability, ...Capability[]] {
  const { capability, installationCapability = capability, installationAlternative } = guardedOperationOf(id)
  return [installationCapability, ...(installationAlternative === undefined ? [] : [installationAlternative])]
}

interface Target {
  readonly sessionId: string
  readonly turnId: string
  readonly runId: string
}

interface Hung extends Target {
  readonly artifactId: string
  readonly interactionId: string
  readonly verificationId: string
  readonly publicationId: string
  readonly mergeId: string
}

const noTarget: Target = { sessionId: randomUUID(), turnId: randomUUID(), runId: randomUUID() }

/** Calls an operation on a target, and leaves any stream that opens. */
async function call(id: GuardedOperationId, apiKey: string, target: Target): Promise<[number, unknown]> {
  const { method, path, headers } = guardedOperationOf(id)
  const names = Object.keys(headers?.properties ?? {})
  const segments: Readonly<Record<string, string>> = {
    repositoryId: '1',
    number: '1',
    port: '8080',
    releaseSha: 'a'.repeat(40),
    sha256: 'a'.repeat(64),
    host: 'example.com',
    // A review's is a digest, an environment's a number.
    revision: path.includes('/reviews/') ? 'a'.repeat(64) : '1',
    name: 'A',
    ...target,
  }
  const body = bodies[id]
  const query = id === 'listStatements' ? `?commit=${'a'.repeat(40)}` : ''
  const place = path.replaceAll(/\{(\w+)\}/g, (_, name) => segments[name] ?? randomUUID())
  const response = await fetch(test.url + place + query, {
    method,
    headers: {
      authorization: `Bearer ${apiKey}`,
      // Without it a write of an environment would create one, or be refused before it looks for it.
      ...(names.includes('if-match') && { 'if-match': '"1"' }),
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...(id === 'callTools' && { accept: 'application/json, text/event-stream' }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  if (!response.headers.get('content-type')?.startsWith('text/event-stream')) {
    const text = await response.text()
    return [response.status, text === '' ? null : JSON.parse(text)]
  }
  await response.body?.cancel()
  return [response.status, null]
}

/** Makes an installation of the first tenant with exactly these capabilities. */
const installationWith = (held: readonly Capability[]) =>
  createInstallation(test.db.database, test.tenant.organizationId, test.tenant.appSlug, held)

async function targetOf(api: Api): Promise<Target & { session: Session }> {
  const session = await api.createSession({ title: 'mine' }, 'a')
  const run = await api.run(session.id, session.activeRunId ?? '')
  return { session, sessionId: session.id, turnId: run.turnId, runId: run.id }
}

const notFound = { error: 'cloud_session_not_found' }

describe("another tenant's session", () => {
  let target: Target & { session: Session }
  let stranger: Tenant
  let sibling: { apiKey: string }
  beforeAll(async () => {
    target = await targetOf(test.api)
    stranger = (await test.newTenant()).tenant
    sibling = await installationWith(capabilities)
  })
  afterAll(async () => {
    expect(await test.api.session(target.sessionId)).toEqual(target.session)
    expect(await test.api.events(target.sessionId)).toHaveLength(1)
    expect((await test.api.run(target.sessionId, target.runId)).status).toBe('queued')
  })

  it.each(sessionScoped)('is not found by another installation of the organization: %s', async id => {
    expect(await call(id, sibling.apiKey, target)).toEqual([404, notFound])
  })

  it.each(sessionScoped.filter(id => id !== 'createSession'))('is not found by another organization: %s', async id => {
    expect(await call(id, stranger.apiKey, target)).toEqual([404, notFound])
  })

  it('does not reserve its id in another organization', async () => {
    const foreign = new Api(test.url, stranger.apiKey)
    const path = `/v1/sessions/${target.sessionId}`
    const made = await foreign.put<{ session: Session }>(path, { title: 'another' })
    expect([made.status, made.body.session.organizationId]).toEqual([201, stranger.organizationId])
    const turn = await foreign.put(`${path}/turns/${target.turnId}`, { message: 'b' })
    expect([turn.status, turn.body.created]).toEqual([202, true])
    expect((await foreign.get(`${path}/runs/${target.runId}`)).body).toEqual(notFound)
  })

  it.each(sessionScoped.filter(id => id !== 'createSession'))(
    'looks like a session that does not exist: %s',
    async id => {
      expect(await call(id, test.tenant.apiKey, noTarget)).toEqual([404, notFound])
    },
  )
})

describe('the resources of a session', () => {
  const deliveries = { verificationId: randomUUID(), publicationId: randomUUID(), mergeId: randomUUID() }
  const ids = { artifactId: randomUUID(), interactionId: 'asked', ...deliveries }
  const listed = ['listArtifacts', 'listInteractions', 'listVerifications'] as const
  const lists = [...listed, 'listPublications', 'listMerges'] as const
  let target: Hung
  let stranger: Tenant
  beforeAll(async () => {
    const { session: _, ...made } = await targetOf(test.api)
    target = { ...made, ...ids }
    await hang(test.tenant.organizationId, target)
    stranger = (await test.newTenant()).tenant
    await new Api(test.url, stranger.apiKey).put(`/v1/sessions/${target.sessionId}`, {})
  })

  const reads = sessionScoped
    .filter(id => /\{(artifact|verification|publication|merge)Id\}/.test(guardedOperationOf(id).path))
    .filter(id => id !== 'createPublication' && id !== 'createVerification')
  it.each([...reads, ...lists].filter(id => !/content|create|statement/i.test(id)))(
    'can be read by their owner: %s',
    async id => {
      const [status, body] = await call(id, test.tenant.apiKey, target)
      expect([status, Object.values(body ?? {})[0]]).not.toEqual([200, []])
      expect(status).toBe(200)
    },
  )

  it.each([...reads, 'decideInteraction', 'getRun', 'cancelRun'] as const)(
    'are not found by another organization whose session has the same id: %s',
    async id => {
      expect(await call(id, stranger.apiKey, target)).toEqual([404, notFound])
    },
  )

  it.each(lists.filter(id => id !== 'listMerges'))('are in no list of that session: %s', async id => {
    const [status, body] = await call(id, stranger.apiKey, target)
    expect([status, Object.values(body ?? {})[0]]).toEqual([200, []])
  })
})

/** Inserts an Artifact, an open approval, a verification, a Publication with its Merge and its follow-up. */
async function hang(organizationId: string, { sessionId, runId, artifactId, ...ids }: Hung): Promise<void> {
  const leaseId = randomUUID()
  const of = [organizationId, sessionId]
  const digest = '0'.repeat(64)
  const pullRequest = { number: 1, url: 'https://example.com/1', draft: false, reused: false }
  const published = JSON.stringify({ delivery: 'pull_request', branch: 'b', commitSha: '0'.repeat(40), pullRequest })
  const insert = (text: string, ...values: unknown[]) => test.db.database.query(text, [...of, ...values])
  await insert(
    `insert into leases (organization_id, session_id, id, driver, host, runtime, state, created_at, expires_at, bound_at,
       idle_ms, ended_at, end_reason)
     values ($1, $2, $3, 'bubblewrap', 'h', 'shell', 'ended', now(), now(), now(), 1, now(), 'expired')`,
    leaseId,
  )
  await insert(
    `insert into artifacts (organization_id, session_id, id, kind, name, media_type, size_bytes, sha256, created_at)
     values ($1, $2, $3, 'presented_file', 'n', 'text/plain', 0, $4, now())`,
    ...[artifactId, digest],
  )
  await insert(
    `insert into interactions (organization_id, session_id, id, run_id, kind, status, request, lease_id, journal_offset,
       agent_request, request_id, deadline, opened_at)
     values ($1, $2, $3, $4, 'approval', 'open', '{}', $5, 0, '{}', 'taken', now() + interval '1 day', now())`,
    ...[ids.interactionId, runId, leaseId],
  )
  await insert(
    `insert into reviews (organization_id, session_id, revision, base_oid, base_tree, head_tree, target_branch,
       document_sha256, created_at) values ($1, $2, $3, '', '', '', 'main', $3, now())`,
    digest,
  )
  await insert(
    `insert into verifications (organization_id, session_id, id, request_hash, revision, tree, environment_id,
       environment_revision, checks_digest, state, requested_by_kind, requested_by_id, created_at, ended_at)
     values ($1, $2, $3, '', $4, $5, $3, 1, '', 'passed', 'person', $3, now(), now())`,
    ...[ids.verificationId, digest, digest.slice(24)],
  )
  await insert(
    `insert into publications (organization_id, session_id, id, request_hash, revision, title, body, delivery, branch,
       draft, status, due_at, created_at, updated_at, ended_at, result)
     values ($1, $2, $3, '', $4, 't', '', 'pull_request', 'b', false, 'succeeded', now(), now(), now(), now(), $5)`,
    ...[ids.publicationId, digest, published],
  )
  await insert(
    `insert into follow_ups (organization_id, session_id, publication_id, pull_number, pull_url, pull_title, pull_state,
       state, max_attempts, until, merge, causes, started_by_kind, started_by_id, due_at, created_at, updated_at)
     values ($1, $2, $3, 1, 'https://example.com/1', 't', 'open', 'watching', 5, now(), 'never', '{checks}', 'person', $3,
       'infinity', now(), now())`,
    ids.publicationId,
  )
  await insert(
    `insert into merges (organization_id, session_id, publication_id, id, request_hash, strategy, mode, pull_number,
       head_sha, status, due_at, created_at, updated_at, ended_at, error_code)
     values ($1, $2, $3, $4, '', 'merge', 'immediate', 1, '', 'failed', now(), now(), now(), now(), 'head_moved')`,
    ...[ids.publicationId, ids.mergeId],
  )
}

describe('an operation', () => {
  it.each(forInstallations)('requires its one capability: %s', async id => {
    const [capability, ...others] = capabilitiesOf(id)
    const without = await installationWith(capabilities.filter(held => held !== capability && !others.includes(held)))
    expect(await call(id, without.apiKey, noTarget)).toEqual([
      403,
      { error: 'insufficient_scope', requiredScope: capability },
    ])
  })

  it.each(forInstallations)('requires no other capability besides product access: %s', async id => {
    const { form, octets } = guardedOperationOf(id)
    for (const capability of capabilitiesOf(id)) {
      const narrow = await installationWith([accessCapability, capability])
      const [status] = await call(id, narrow.apiKey, { ...noTarget, sessionId: randomUUID() })
      // These checks come before that of a stream's media type, and before that of an engine that nobody uploaded.
      if (form !== undefined || octets !== undefined) expect(status).toBe(415)
      else if (id === 'activateRuntimeReleaseProbe') expect(status).toBe(400)
      else expect([200, 201, 204, 404]).toContain(status)
    }
  })

  it.each(forPeople)('refuses the credential of an installation: %s', async id => {
    const { apiKey } = await installationWith(capabilities)
    expect(await call(id, apiKey, noTarget)).toEqual([401, { error: 'invalid_or_expired_credential' }])
  })

  it.each(forInstallations)('is not found without product access: %s', async id => {
    const outside = await installationWith(capabilities.filter(held => held !== accessCapability))
    expect(await call(id, outside.apiKey, noTarget)).toEqual([403, { error: 'cloud_access_denied' }])
  })
})

describe('authority', () => {
  const list = (apiKey: string) => call('listSessions', apiKey, noTarget)
  const invalid = [401, { error: 'invalid_or_expired_credential' }]
  const change = (sql: string, installationId: string, ...values: unknown[]) =>
    test.db.database.query(sql, [installationId, ...values])

  async function newInstallation(): Promise<{ installationId: string; apiKey: string }> {
    const made = await installationWith(capabilities)
    expect((await list(made.apiKey))[0]).toBe(200)
    return made
  }

  it('ends with the revocation of the key', async () => {
    const { installationId, apiKey } = await newInstallation()
    await change('update api_keys set revoked_at = now() where installation_id = $1', installationId)
    expect(await list(apiKey)).toEqual(invalid)
  })

  it('ends with the revocation of the installation, for all of its keys', async () => {
    const { installationId, apiKey } = await newInstallation()
    await change('update installations set revoked_at = now() where id = $1', installationId)
    expect(await list(apiKey)).toEqual(invalid)
  })

  it.each([
    ['has passed', -1_000, 401],
    ['is to come', 60_000, 200],
  ])('ends when the key expires: one that %s', async (_, fromNow, status) => {
    const { installationId, apiKey } = await newInstallation()
    const sql = 'update api_keys set expires_at = $2 where installation_id = $1'
    await change(sql, installationId, new Date(Date.now() + fromNow))
    expect((await list(apiKey))[0]).toBe(status)
  })

  it("follows the installation's current capabilities", async () => {
    const { installationId, apiKey } = await newInstallation()
    const sql = 'update installations set capabilities = $2 where id = $1'
    await change(sql, installationId, [accessCapability, 'svc.cloud.turns:submit'])
    expect((await list(apiKey))[1]).toMatchObject({ error: 'insufficient_scope' })
    await change(sql, installationId, [accessCapability, 'svc.cloud.sessions:read'])
    expect((await list(apiKey))[0]).toBe(200)
  })

  it('is not given by a key of the gateway', async () => {
    const { installationId } = await newInstallation()
    const aiKey = `svc_ai_live_${randomUUID()}`
    const sql = `insert into api_keys (id, installation_id, kind, digest, created_at) values ($2, $1, 'ai', $3, now())`
    await change(sql, installationId, randomUUID(), credentialDigest(aiKey))
    expect(await list(aiKey)).toEqual(invalid)
  })

  it('belongs to the installation: a second key sees and commands the same', async () => {
    const { installationId, apiKey } = await newInstallation()
    const session = await new Api(test.url, apiKey).createSession({ title: 'a' })
    const secondKey = `svc_cloud_live_${randomUUID()}`
    const sql = `insert into api_keys (id, installation_id, kind, digest, created_at) values ($2, $1, 'cloud', $3, now())`
    await change(sql, installationId, randomUUID(), credentialDigest(secondKey))
    expect(await new Api(test.url, secondKey).session(session.id)).toEqual(session)
  })
})
