import { randomUUID } from 'node:crypto'
import { type Discovery, type Runtime, runStatuses } from '@berth/contract'
import { announceHost } from '@berth/core/runtimes/runtime-hosts.ts'
import { releaseVersion } from '@berth/platform/kit/version.ts'
import { Api } from '@berth/testing/api/api.ts'
import { createInstallation } from '@berth/testing/api/tenant.ts'
import { startTestService, type TestService } from '@berth/testing/services/service.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

let test: TestService
beforeAll(async () => {
  test = await startTestService({
    variables: { BERTH_ROLES: 'api', BERTH_LEASE_IDLE_SECONDS: '30', BERTH_LEASE_MAX_SECONDS: '600' },
    config: { runtimes: [{ id: 'foreign', name: 'Foreign Agent', command: ['agent'] }] },
  })
})
afterAll(() => test[Symbol.asyncDispose]())

describe('GET /v1/capabilities', () => {
  it('reports the limits of the deployment', async () => {
    const { status, body } = await test.api.get<Discovery>('/v1/capabilities')
    expect([status, body]).toMatchObject([
      200,
      {
        limits: { maxMessageCharacters: 100_000, maxPageSize: 100, maxTurns: 1_000, maxFilesPerTurn: 20 },
        artifacts: {
          conversationCheckpointMaxBytes: 268_435_456,
          workspaceCheckpointMaxBytes: 268_435_456,
          presentedFileMaxBytes: 33_554_432,
          presentedFilesMaxBytes: 67_108_864,
          presentedFilesMax: 24,
          summaryMaxBytes: 100_000,
        },
        organizationEnvironments: {
          maxLive: 200,
          documentMaxBytes: 262_144,
          setupMaxCharacters: 65_536,
          maxVariables: 200,
          maxSecrets: 100,
          secretMaxBytes: 32_768,
          secretsMaxBytes: 524_288,
          archiveMaxBytes: 33_554_432,
          archivesMaxBytes: 1_073_741_824,
        },
        environments: [
          {
            kind: 'bubblewrap',
            workspace: { maxCheckpointBytes: 268_435_456, leaseIdleSeconds: 30, leaseMaxSeconds: 600 },
          },
        ],
      },
    ])
  })

  it('reports the capabilities of the credential and nothing that is unknown', async () => {
    const held = ['svc.cloud.access', 'svc.cloud.sessions:create', 'svc.cloud.turns:submit'] as const
    const { organizationId, appSlug } = test.tenant
    const { apiKey, installationId } = await createInstallation(test.db.database, organizationId, appSlug, held)
    const sql = "update installations set capabilities = array_append(capabilities, 'svc.cloud.retired') where id = $1"
    await test.db.database.query(sql, [installationId])
    const { body } = await new Api(test.url, apiKey).get<Discovery>('/v1/capabilities')
    expect(body.capabilities.toSorted()).toEqual([...held].toSorted())
  })
})

describe('GET /v1/runtimes', () => {
  it('asks the caller to retry until a worker has announced its runtimes', async () => {
    const { status, body, headers } = await test.api.get('/v1/runtimes')
    expect([status, body, headers.get('retry-after')]).toEqual([503, { error: 'cloud_agent_catalog_unavailable' }, '2'])
    await announceHost(
      test.db.database,
      { id: 'a-host', driver: 'bubblewrap', runtimes: ['opencode'], patienceMs: 300_000, packagesFault: null },
      new Date(),
    )
  })

  it('lists the built-in runtimes, the configured ones and those that Berth knows', async () => {
    const { status, body } = await test.api.get<{ runtimes: Runtime[] }>('/v1/runtimes')
    const version = expect.stringMatching(/^\d+\.\d+\.\d+$/)
    const missing = (id: string, name: string, reason: string, of: unknown = version) => ({
      id,
      name,
      version: of,
      available: false,
      reason,
    })
    expect([status, body.runtimes]).toEqual([
      200,
      [
        { id: 'native', name: 'Berth', version, available: false, reason: expect.stringContaining('no model') },
        { id: 'shell', name: 'Shell', version, available: true },
        { id: 'demo', name: 'Demonstration', version, available: true },
        { id: 'foreign', name: 'Foreign Agent', version: null, available: true },
        { id: 'opencode', name: 'OpenCode', version, available: true },
        missing(
          'codex',
          'Codex',
          expect.stringMatching(/^needs a provider of kind openai, or one that names 'responses'/),
        ),
        missing(
          'claude-code',
          'Claude Code',
          expect.stringMatching(/^needs a provider of kind anthropic.*; or ANTHROPIC_API_KEY in an entry/),
        ),
        missing(
          'gemini',
          'Gemini CLI',
          expect.stringMatching(/^needs a provider of kind google.*; or GEMINI_API_KEY in an entry/),
        ),
        missing('goose', 'Goose', expect.stringContaining('not installed'), null),
      ],
    ])
  })

  it('lists every runtime that a session can be created with', async () => {
    const { body } = await test.api.get<{ runtimes: Runtime[] }>('/v1/runtimes')
    for (const { id, available } of body.runtimes) {
      if (!available && id !== 'native') {
        const refused = await test.api.put(`/v1/sessions/${randomUUID()}`, { runtime: id })
        expect([refused.status, refused.body]).toMatchObject([400, { issues: [{ path: ['runtime'] }] }])
      } else expect((await test.api.createSession({ runtime: id })).runtime).toBe(id === 'native' ? undefined : id)
    }
  })
})

describe('GET /v1/openapi.json', () => {
  it('serves the contract of the running build to anyone', async () => {
    const response = await fetch(`${test.url}/v1/openapi.json`)
    expect([response.status, response.headers.get('cache-control')]).toEqual([200, expect.stringContaining('300')])
    const document = (await response.json()) as {
      info: object
      components: { schemas: { Run: { properties: { status: object } } } }
    }
    expect(document.info).toMatchObject({ version: releaseVersion })
    expect(document.info).not.toHaveProperty('x-svc-release')
    expect(document.components.schemas.Run.properties.status).toMatchObject({ enum: runStatuses })
  })
})
