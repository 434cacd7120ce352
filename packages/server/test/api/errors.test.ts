import { randomUUID } from 'node:crypto'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { accessCapability, type Capability, capabilities, type ErrorCode, errors, limits } from '@berth/contract'
import { type Answer, Api } from '@berth/testing/api/api.ts'
import { createInstallation } from '@berth/testing/api/tenant.ts'
import { outcome } from '@berth/testing/runs/outcome.ts'
import { WorkerStandIn } from '@berth/testing/runs/states.ts'
import { startTestService, type TestService } from '@berth/testing/services/service.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

let test: TestService
let worker: WorkerStandIn
beforeAll(async () => {
  test = await startTestService({ variables: { BERTH_ROLES: 'api' } })
  worker = new WorkerStandIn(test.db.database)
})
afterAll(() => test[Symbol.asyncDispose]())

const { organizationHeader, unknownId } = { organizationHeader: 'x-svc-organization', unknownId: randomUUID() }

interface Sent {
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
}

/** Sends a request that no client would send. */
async function send({ method, path, headers, body }: Sent): Promise<Answer> {
  const response = await fetch(test.url + path, { method, headers, ...(body !== undefined && { body }) })
  const text = await response.text()
  return { status: response.status, body: text === '' ? {} : JSON.parse(text), text, headers: response.headers }
}

async function keyWith(held: readonly Capability[]): Promise<string> {
  const { organizationId, appSlug } = test.tenant
  return (await createInstallation(test.db.database, organizationId, appSlug, held)).apiKey
}

const without = (...missing: readonly Capability[]) => keyWith(capabilities.filter(held => !missing.includes(held)))

describe('the order of checks', () => {
  it('refuses a request for each of its faults in turn, as the previous one is repaired', async () => {
    const bearer = (key: string) => ({ authorization: `Bearer ${key}` })
    const idle = await test.api.createSession()
    const busy = await test.api.createSession({}, 'a')
    const turnOf = (sessionId: string) => `/v1/sessions/${sessionId}/turns/${randomUUID()}`
    const faulty: Sent = {
      method: 'POST',
      path: '/v1/nope?x=1',
      headers: { [organizationHeader]: 'x', 'content-type': 'text/plain' },
      body: '{'.repeat(limits.bodyBytes + 1),
    }
    const foreign = bearer(await without(accessCapability, 'svc.cloud.turns:submit'))
    const narrow = bearer(await without('svc.cloud.turns:submit'))
    const full = bearer(test.api.key)
    const text = { 'content-type': 'text/plain' }
    const json = { 'content-type': 'application/json' }
    const steps: readonly (readonly [expected: string, mend: Partial<Sent>])[] = [
      ['401 bearer_credential_required', {}],
      ['401 invalid_or_expired_credential', { headers: { ...faulty.headers, ...bearer('svc_cloud_live_x') } }],
      ['400 invalid_organization', { headers: { ...faulty.headers, ...foreign } }],
      ['400 organization_header_not_allowed', { headers: { ...text, ...foreign, [organizationHeader]: unknownId } }],
      ['404 unknown_endpoint', { headers: { ...text, ...foreign } }],
      ['405 method_not_allowed', { path: '/v1/sessions/x/turns/y?x=1' }],
      ['400 invalid_path_parameter', { method: 'PUT' }],
      ['403 cloud_access_denied', { path: `${turnOf(unknownId)}?x=1` }],
      ['403 insufficient_scope', { headers: { ...text, ...narrow } }],
      ['415 unsupported_media_type', { headers: { ...text, ...full } }],
      ['413 request_entity_too_large', { headers: { ...json, ...full } }],
      ['400 malformed_request_body', { body: '{' }],
      ['400 invalid_request', { body: '{"message":1}' }],
      ['400 invalid_request', { body: '{"message":"a"}' }],
      ['404 cloud_session_not_found', { path: turnOf(unknownId) }],
      ['409 cloud_run_in_progress', { path: turnOf(busy.id) }],
      ['202', { path: turnOf(idle.id) }],
    ]
    let request = faulty
    for (const [expected, mend] of steps) {
      request = { ...request, ...mend }
      expect(outcome(await send(request))).toBe(expected)
    }
  })
})

/** Renames a table while `work` runs. */
async function away<T>(table: string, work: () => Promise<T>): Promise<T> {
  await test.db.database.query(`alter table ${table} rename to ${table}_away`)
  try {
    return await work()
  } finally {
    await test.db.database.query(`alter table ${table}_away rename to ${table}`)
  }
}

/** Ends the connections that wait for a lock; returns their number. */
async function endWaitingConnections(): Promise<number> {
  const { rowCount } = await test.db.database.query(
    `select pg_terminate_backend(pid) from pg_stat_activity
     where datname = current_database() and wait_event_type = 'Lock'`,
  )
  return rowCount
}

const session = (path = '') => test.api.createSession({}, 'a').then(made => `/v1/sessions/${made.id}${path}`)
const authorized = (headers: Record<string, string> = {}) => ({ authorization: `Bearer ${test.api.key}`, ...headers })

type Refused = Promise<Answer>

/** The way to provoke each refusal, and the members of its body besides the code. */
const provoked: {
  readonly [Code in ErrorCode]?: readonly [provoke: () => Refused, fields?: Readonly<Record<string, unknown>>]
} = {
  invalid_request: [
    () => test.api.put(`/v1/sessions/${unknownId}`, { title: 1, a: 2 }),
    {
      issues: [
        { path: ['a'], message: expect.any(String) },
        { path: ['title'], message: expect.any(String) },
      ],
    },
  ],
  invalid_path_parameter: [() => test.api.get('/v1/sessions/x'), { parameter: 'sessionId' }],
  malformed_request_body: [
    () =>
      send({
        method: 'PUT',
        path: `/v1/sessions/${unknownId}`,
        headers: authorized({ 'content-type': 'application/json' }),
        body: '{',
      }),
  ],
  invalid_organization: [() => test.api.get('/v1/sessions', { [organizationHeader]: 'x' })],
  organization_header_not_allowed: [() => test.api.get('/v1/sessions', { [organizationHeader]: unknownId })],
  bearer_credential_required: [() => send({ method: 'GET', path: '/v1/sessions', headers: { cookie: 'a=b' } })],
  invalid_or_expired_credential: [() => new Api(test.url, 'svc_cloud_live_unknown').get('/v1/sessions')],
  cloud_access_denied: [async () => new Api(test.url, await without(accessCapability)).get('/v1/sessions')],
  insufficient_scope: [
    async () => new Api(test.url, await without('svc.cloud.sessions:read')).get('/v1/sessions'),
    { requiredScope: 'svc.cloud.sessions:read' },
  ],
  environment_forbidden: [
    async () =>
      new Api(test.url, await without('environments:manage', 'environments:use')).put(`/v1/sessions/${unknownId}`, {
        environment: { id: unknownId },
      }),
  ],
  cloud_repository_grant_required: [
    () => test.api.put(`/v1/sessions/${unknownId}`, { source: { grantId: unknownId, repositoryId: '1' } }),
  ],
  unknown_endpoint: [() => test.api.get('/v1/nope')],
  cloud_session_not_found: [() => test.api.get(`/v1/sessions/${unknownId}`)],
  method_not_allowed: [() => test.api.call('DELETE', '/v1/sessions'), { allow: ['GET'] }],
  representation_not_acceptable: [
    () => send({ method: 'GET', path: '/v1/openapi.json', headers: { accept: 'text/html' } }),
  ],
  cloud_session_conflict: [async () => test.api.put(await session(), {})],
  cloud_session_settled: [async () => test.api.call('PATCH', await session(), { runtime: 'shell' })],
  cloud_turn_conflict: [
    async () => {
      const made = await test.api.createSession()
      const { turn } = await test.api.submitTurn(made.id, 'a')
      return test.api.put(`/v1/sessions/${made.id}/turns/${turn.id}`, { message: 'b' })
    },
  ],
  cloud_run_in_progress: [async () => test.api.put(await session(`/turns/${unknownId}`), { message: 'b' })],
  cloud_resume_unavailable: [
    async () => {
      const made = await test.api.createSession({}, 'a')
      await worker.start(made, made.activeRunId ?? '')
      await worker.end(made, made.activeRunId ?? '')
      return test.api.put(`/v1/sessions/${made.id}/turns/${unknownId}`, { message: 'b' })
    },
  ],
  cloud_reset_unavailable: [
    async () => test.api.call('POST', `/v1/sessions/${(await test.api.createSession()).id}/reset`),
  ],
  cloud_turn_limit_reached: [
    async () => {
      const made = await test.api.createSession()
      await worker.countTurns(made, limits.turnsPerSession)
      return test.api.put(`/v1/sessions/${made.id}/turns/${unknownId}`, { message: 'b' })
    },
  ],
  invalid_input: [
    async () =>
      test.api.put(await session(`/publications/${unknownId}`), {
        revision: '0'.repeat(64),
        title: 'a',
        body: 'é'.repeat(limits.proseBytes / 2 + 1),
      }),
  ],
  cloud_repository_required: [async () => test.api.get(await session('/repository/review'))],
  request_entity_too_large: [() => test.api.put(`/v1/sessions/${unknownId}`, { title: 'a'.repeat(limits.bodyBytes) })],
  unsupported_media_type: [
    () =>
      send({
        method: 'PUT',
        path: `/v1/sessions/${unknownId}`,
        headers: authorized({ 'content-type': 'text/csv' }),
        body: 'a',
      }),
    { mediaType: 'text/csv' },
  ],
  request_header_fields_too_large: [() => test.api.get('/v1/sessions', { 'x-large': 'a'.repeat(32_768) })],
  internal_error: [
    async () => {
      const path = await session('/turns')
      return away('turns', () => test.api.get(path))
    },
  ],
  service_unavailable: [
    async () => {
      const path = await session()
      return test.db.database.transaction(async tx => {
        await tx.query('select 1 from sessions where id = $1 for update', [path.split('/').at(-1)])
        const answer = test.api.call('PATCH', path, { title: 'b' })
        await expect.poll(endWaitingConnections).toBe(1)
        return answer
      })
    },
  ],
  cloud_rate_limit_unavailable: [() => away('rate_buckets', () => test.api.get('/v1/sessions'))],
}

/** Codes that no request to a running service can provoke, with the reason. */
const unreachable: { readonly [Code in ErrorCode]?: string } = {
  uri_too_long: 'a target of that length is refused for its headers first',
}

/** The text of every other test of the server. */
function otherTests(): string {
  const root = join(import.meta.dirname, '../../..')
  const files = globSync('*/{src,test}/**/*.test.ts', { cwd: root }).filter(
    file => !file.endsWith('api/errors.test.ts'),
  )
  return files.map(file => readFileSync(join(root, file), 'utf8')).join('\n')
}

/** Delays that only a header gives. */
const delays: { readonly [Code in ErrorCode]?: string } = {
  cloud_run_in_progress: '2',
  service_unavailable: '2',
  cloud_rate_limit_unavailable: '1',
}

describe('a refusal', () => {
  const codes = Object.keys(errors) as ErrorCode[]

  it.each(codes.filter(code => code in provoked))('%s has its status, its body and its headers', async code => {
    const [provoke = () => Promise.reject(new Error('not provoked')), fields] = provoked[code] ?? []
    const answer = await provoke()
    expect([answer.status, answer.body]).toEqual([errors[code].status, { error: code, ...fields }])
    expect(answer.headers.get('content-type')).toMatch(/^application\/json/)
    expect(answer.headers.get('cache-control')).toBe('no-store')
    expect(answer.headers.get('retry-after')).toBe(delays[code] ?? null)
    if (code === 'method_not_allowed') expect(answer.headers.get('allow')).toBe('GET')
  })

  it('is proven here or in another file, unless nothing can provoke it', () => {
    const others = otherTests()
    const isNamed = (code: string) => new RegExp(`\\b${code}\\b`).test(others)
    expect(codes.filter(code => !(code in provoked || code in unreachable || isNamed(code)))).toEqual([])
    expect(codes.filter(code => code in provoked && code in unreachable)).toEqual([])
  })
})
