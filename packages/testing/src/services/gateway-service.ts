import { randomBytes, randomUUID } from 'node:crypto'
import { type Capability, capabilities } from '@berth/contract'
import type { Fixed } from '@berth/platform/settings/fixed.ts'
import { credentialDigest } from '@berth/platform/storage/master-key.ts'
import type { Database } from '@berth/platform/storage/postgres/database.ts'
import OpenAI from 'openai'
import { createInstallation, type Tenant } from '../api/tenant.ts'
import { type ScriptedUpstream, startScriptedUpstream } from '../models/scripted-upstream.ts'
import { startTestService, type TestService } from './service.ts'

/** The key of the scripted provider, which nobody else may ever see. */
export const providerKey = 'sk-provider-secret-0123456789'

/** A service whose models the scripted upstream serves. */
export interface GatewayService extends AsyncDisposable {
  readonly test: TestService
  readonly upstream: ScriptedUpstream
  /** A second provider, which serves `spare/m1`. */
  readonly spare: ScriptedUpstream
  /** Key of `test.tenant` for the gateway. */
  readonly aiKey: string
  readonly openai: OpenAI
  /** Calls the gateway directly, without a client library. */
  call(path: string, body: unknown, options?: { key?: string; signal?: AbortSignal }): Promise<Response>
  /** Reads the ledger, latest entry last. */
  requests(): Promise<Readonly<Record<string, unknown>>[]>
}

/** Makes another gateway key, of an installation with the given capabilities. */
export async function createAiKey(
  db: Database,
  tenant: Pick<Tenant, 'organizationId' | 'appSlug'>,
  held: readonly Capability[] = capabilities,
): Promise<{ aiKey: string; apiKeyId: string }> {
  const { installationId } = await createInstallation(db, tenant.organizationId, tenant.appSlug, held)
  const aiKey = `svc_ai_live_${randomBytes(32).toString('base64url')}`
  const apiKeyId = randomUUID()
  await db.query("insert into api_keys (id, installation_id, kind, digest, created_at) values ($1, $2, 'ai', $3, $4)", [
    apiKeyId,
    installationId,
    credentialDigest(aiKey),
    new Date(),
  ])
  return { aiKey, apiKeyId }
}

const price = { input: 1, cachedInput: 0.5, output: 10 }

export async function startGatewayService(
  options: {
    variables?: Record<string, string>
    fixed?: Partial<Fixed>
    provider?: object
    providers?: readonly object[]
    models?: object
    runtimes?: readonly object[]
    /** The provider that searches the web. */
    search?: object
  } = {},
): Promise<GatewayService> {
  await using stack = new AsyncDisposableStack()
  const upstream = stack.use(await startScriptedUpstream())
  const spare = stack.use(await startScriptedUpstream())
  const test = stack.use(
    await startTestService({
      variables: {
        BERTH_ROLES: 'api,gateway',
        ...options.variables,
      },
      fixed: { gatewayRetries: 0, ...options.fixed },
      config: {
        ...(options.runtimes && { runtimes: options.runtimes }),
        ...(options.search && { search: options.search }),
        providers: [
          {
            id: 'main',
            kind: 'openai',
            baseUrl: upstream.baseUrl,
            apiKey: providerKey,
            models: [
              {
                id: 'm1',
                contextTokens: 128_000,
                outputTokens: 8192,
                reasoning: true,
                modalities: ['text', 'image'],
                price,
              },
              { id: 'unpriced' },
              { id: 'plain', tools: false, price },
            ],
            ...options.provider,
          },
          { id: 'spare', kind: 'openai', baseUrl: spare.baseUrl, models: [{ id: 'm1', reasoning: true, price }] },
          ...(options.providers ?? []),
        ],
        models: { aliases: { fast: 'main/m1' }, ...options.models },
      },
    }),
  )
  const { aiKey } = await createAiKey(test.db.database, test.tenant)
  const opened = stack.move()
  return {
    test,
    upstream,
    spare,
    aiKey,
    openai: new OpenAI({ baseURL: `${test.url}/v1`, apiKey: aiKey, maxRetries: 0 }),
    call: (path, body, { key = aiKey, signal } = {}) =>
      fetch(test.url + path, {
        method: body === undefined ? 'GET' : 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
        ...(signal && { signal }),
      }),
    async requests() {
      const { rows } = await test.db.database.query<Record<string, unknown>>(
        'select * from gateway_requests order by started_at, id',
      )
      return rows
    },
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  }
}
