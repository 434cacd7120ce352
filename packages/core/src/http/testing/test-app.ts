import {
  assertionOperationIds,
  browserOperationIds,
  capabilities,
  type ErrorBody,
  type GuardedOperationId,
  guardedOperationIds,
  operationOf,
  personOperationIds,
  signedOperationIds,
} from '@berth/contract'
import type { FastifyInstance } from 'fastify'
import { type Logger, pino } from 'pino'
import {
  type Authority,
  type Metering,
  MeteringFault,
  type Principal,
  type Verdict,
} from '../../identity/guard/principal.ts'
import { type AccountSurface, type AppOptions, type ConsoleSurface, createApp } from '../app.ts'
import type { GatewaySurface } from '../gateway/routes.ts'
import type { AccountHandlers, Handler, HandlerRequest, Handlers, Reply } from '../routing/handler.ts'

export const metering: Metering = {
  policy: 'svc-cloud',
  remaining: 119,
  burst: 120,
  perMinute: 600,
  resetSeconds: 1,
}

export const installation: Principal = {
  kind: 'app_installation',
  id: '00000000-0000-4000-8000-000000000001',
  organizationId: '00000000-0000-4000-8000-000000000002',
  capabilities: new Set(capabilities),
  expiresAt: null,
}

export const sessionId = '0b8a4c9e-3f1d-4a57-9c1e-2f6d7e8a9b0c'
export const otherId = '5d1f0a2b-7c3e-4b68-8d9f-1a2b3c4d5e6f'

/** Reads the body of a refusal. */
export async function readRefusal(response: Response): Promise<ErrorBody> {
  return (await response.json()) as ErrorBody
}

/** Answers with prepared verdicts by bearer; any other bearer is invalid. */
export class FakeAuthority implements Authority {
  readonly verdicts = new Map<string, Verdict | Error>()
  readonly calls: Parameters<Authority['judge']>[0][] = []

  constructor() {
    this.grant('good', installation)
    this.verdicts.set('metering-fault', new MeteringFault())
    this.verdicts.set('database-down', new Error('connection refused'))
    this.verdicts.set('limited', { kind: 'limited', metering: { ...metering, remaining: 0 }, retryAfterSeconds: 0.4 })
    this.verdicts.set('address-limited', {
      kind: 'limited',
      metering: { ...metering, policy: 'svc-cloud-auth', remaining: 0, burst: 600, perMinute: 3000 },
      retryAfterSeconds: 3,
    })
  }

  grant(bearer: string, principal: Principal): void {
    this.verdicts.set(bearer, { kind: 'granted', principal, metering })
  }

  async judge(request: Parameters<Authority['judge']>[0]): Promise<Verdict> {
    this.calls.push(request)
    const verdict = this.verdicts.get(request.bearer) ?? { kind: 'invalid' }
    if (verdict instanceof Error) throw verdict
    return verdict
  }
}

const lettingIn = () => Promise.reject(new Error('this gateway admits no one'))

/** A gateway that admits no one. */
const closedGateway: GatewaySurface = {
  handlers: {
    listModels: lettingIn,
    getModel: lettingIn,
    listContentModels: lettingIn,
    getContentModel: lettingIn,
    createResponse: lettingIn,
    createChatCompletion: lettingIn,
    createMessage: lettingIn,
    countMessageTokens: lettingIn,
    generateContent: lettingIn,
    streamGenerateContent: lettingIn,
    countContentTokens: lettingIn,
  },
  authority: { judge: async () => ({ kind: 'invalid' }) },
  bodyLimitBytes: 1024,
  clientPatienceMs: 10_000,
  graceMs: 0,
}

export interface TestApp extends AsyncDisposable {
  readonly app: FastifyInstance
  readonly authority: FakeAuthority
  readonly origin: string
  readonly port: number
  /** Lines of the log. */
  readonly log: readonly string[]
  /** The requests that the handlers received, in order. */
  readonly requests: { readonly id: GuardedOperationId; readonly request: HandlerRequest<GuardedOperationId> }[]
  /** Replaces the reply of one operation. */
  answer(id: GuardedOperationId, handler: (request: HandlerRequest<GuardedOperationId>) => Promise<Reply>): void
  /** Sends a request with the good bearer. */
  call(method: string, path: string, init?: RequestInit): Promise<Response>
}

/** Starts the HTTP layer on a loopback port, with handlers that reply 204. */
export async function startTestApp(options: Partial<AppOptions> = {}): Promise<TestApp> {
  const authority = new FakeAuthority()
  const requests: { id: GuardedOperationId; request: HandlerRequest<GuardedOperationId> }[] = []
  const answers = new Map<GuardedOperationId, (request: HandlerRequest<GuardedOperationId>) => Promise<Reply>>()
  const handlerOf =
    (id: GuardedOperationId): Handler<GuardedOperationId> =>
    async request => {
      requests.push({ id, request })
      return (await answers.get(id)?.(request)) ?? { status: 204 }
    }
  const handlers = Object.fromEntries(
    [
      ...guardedOperationIds,
      ...signedOperationIds,
      ...personOperationIds.filter(id => !('origin' in operationOf(id))),
    ].map(id => [id, handlerOf(id as GuardedOperationId)]),
  ) as unknown as Handlers
  const accountIds = [...assertionOperationIds, ...personOperationIds.filter(id => 'origin' in operationOf(id))]
  const account: AccountSurface = {
    handlers: Object.fromEntries(
      accountIds.map(id => [id, async () => ({ status: 204 })]),
    ) as unknown as AccountHandlers,
    meter: { take: async () => ({ kind: 'granted', metering }) },
    mount: () => {},
  }
  const answered = (ids: readonly string[]) => Object.fromEntries(ids.map(id => [id, async () => ({ status: 204 })]))
  const console = {
    door: {
      authority: { judge: async () => ({ kind: 'invalid' }) },
      cookieName: () => 'console',
      origin: () => 'http://127.0.0.1',
    },
    handlers: answered(browserOperationIds),
    account: answered(accountIds),
    mount: () => {},
  } as unknown as ConsoleSurface
  const log: string[] = []
  const logger: Logger = pino({ level: 'trace' }, { write: line => log.push(line) })
  const app = createApp({
    handlers,
    hookMeter: account.meter,
    account,
    console,
    gateway: closedGateway,
    authority,
    logger,
    needs: {},
    ...options,
  })
  const origin = await app.listen({ host: '127.0.0.1', port: 0 })
  return {
    app,
    authority,
    origin,
    port: Number(new URL(origin).port),
    log,
    requests,
    answer: (id, handler) => answers.set(id, handler),
    call: (method, path, init = {}) => {
      const headers = new Headers(init.headers)
      if (!headers.has('authorization')) headers.set('authorization', 'Bearer good')
      return fetch(`${origin}${path}`, { ...init, method, headers })
    },
    [Symbol.asyncDispose]: async () => {
      await app.close()
    },
  }
}
