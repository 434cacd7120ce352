import { ApiError } from '@berth/platform/kit/api-error.ts'
import { UpstreamError } from '@berth/platform/kit/upstream-error.ts'
import { recordPast, tokenAttributes } from '@berth/platform/telemetry/observe.ts'
import type { Booking } from './booking.ts'
import { costOf } from './cost.ts'
import { endUserOf } from './end-user.ts'
import type { GatewayMetrics } from './gateway-metrics.ts'
import type { RequestRecord } from './gateway-request-sql.ts'
import type { ModelRequest } from './model-request.ts'
import { type GatewayUsage, noUsage, type ResolvedModel } from './upstream.ts'
import { mayHaveCost } from './upstream-status.ts'

/** Returns the row of a request before its answer. */
export function openRecord(
  request: ModelRequest,
  { provider, catalogId }: ResolvedModel,
  startedAt: Date,
  held: Pick<RequestRecord, 'reservedUsd' | 'holder'> = { reservedUsd: null, holder: null },
): RequestRecord {
  const { id, wire, caller } = request
  return {
    id,
    organizationId: caller.organizationId,
    credentialKind: caller.kind,
    apiKeyId: caller.apiKeyId,
    installationId: caller.installationId,
    personId: caller.personId,
    endUserId: endUserOf(request),
    sessionId: caller.run?.sessionId ?? null,
    runId: caller.run?.runId ?? null,
    wire,
    provider,
    model: catalogId,
    outcome: 'open',
    errorCode: null,
    usage: null,
    costUsd: null,
    ...held,
    firstTokenMs: null,
    durationMs: null,
    startedAt,
  }
}

/** Tells of a Run's model request, by the names that OpenTelemetry gives to calls of models. */
function recordModelRequest(record: RequestRecord): void {
  const { organizationId, sessionId, runId, provider, model, usage, startedAt, durationMs, outcome, errorCode } = record
  if (sessionId === null || runId === null) return
  const beganMs = startedAt.getTime()
  recordPast({ organizationId, sessionId, runId }, 'model request', {
    beganMs,
    endedMs: beganMs + (durationMs ?? 0),
    error: outcome === 'failed' ? (errorCode ?? 'failed') : null,
    attributes: {
      'gen_ai.operation.name': 'chat',
      'gen_ai.provider.name': provider,
      'gen_ai.request.model': model,
      ...tokenAttributes(usage),
    },
  })
}

const aborted = (signal: AbortSignal): Promise<void> =>
  signal.aborted
    ? Promise.resolve()
    : new Promise(resolve => signal.addEventListener('abort', () => resolve(), { once: true }))

/** Measures one request and books it exactly once, however it ends. */
export class RequestMeter {
  readonly #booking: Booking
  readonly #metrics: GatewayMetrics
  readonly #request: ModelRequest
  readonly #opening: RequestRecord
  readonly #begunMs = performance.now()
  #model: ResolvedModel
  #firstTokenMs: number | null = null
  #unknownCost = false
  #opened: boolean
  #booked: Promise<void> | null = null

  /** @param row `opening`: before the answer; `is`: whether that is stored, is still to be, or never is */
  constructor(
    gateway: { booking: Booking; metrics: GatewayMetrics },
    request: ModelRequest,
    model: ResolvedModel,
    row: { readonly opening: RequestRecord; readonly is: 'stored' | 'due' | 'never' },
  ) {
    this.#booking = gateway.booking
    this.#metrics = gateway.metrics
    this.#request = request
    this.#opening = row.opening
    this.#model = model
    this.#opened = row.is === 'stored'
    this.#metrics.open.inc()
    if (row.is === 'due') void this.#open()
  }

  servedBy(model: ResolvedModel): void {
    this.#model = model
  }

  firstToken(): void {
    this.#firstTokenMs ??= Math.round(performance.now() - this.#begunMs)
  }

  /** Records that an attempt broke off for which the provider may charge. */
  mayHaveCostMore(): void {
    this.#unknownCost = true
  }

  /** Books a stream before its last bytes are sent: an agent may end its Run as soon as it has them. */
  async beforeEnd(usage: GatewayUsage | null, failed: boolean): Promise<void> {
    await this.#book(failed ? 'failed' : 'completed', failed ? 'upstream_failed' : null, usage)
  }

  async completed(usage: GatewayUsage | null): Promise<void> {
    await this.#book('completed', null, usage)
  }

  async failed(error: unknown, left: boolean, usage: GatewayUsage | null = null): Promise<void> {
    const named = error instanceof UpstreamError || error instanceof ApiError
    const code = named ? error.code : left ? null : 'internal_error'
    // A provider may go on with a request whose client has left.
    if (left || !(error instanceof UpstreamError) || mayHaveCost(error.code) || this.#firstTokenMs !== null) {
      this.#unknownCost ||= usage === null
    }
    await this.#book(left ? 'left' : 'failed', code, usage ?? (this.#unknownCost ? null : noUsage))
  }

  async #open(): Promise<void> {
    await this.#booking.keep(this.#opening)
    this.#opened = true
  }

  /**
   * Books the request. Only a Run's request waits for its booking, and no longer than somebody waits for the answer: its row
   * says meanwhile that the cost is not known.
   */
  async #book(outcome: RequestRecord['outcome'], code: string | null, usage: GatewayUsage | null): Promise<void> {
    if (this.#booked !== null) return this.#booked
    const record = this.#record(outcome, code, usage)
    setImmediate(() => this.#measure(record))
    const kept = this.#opened ? this.#booking.settle(record) : this.#booking.keep(record)
    const { caller, signal } = this.#request
    this.#booked = caller.run === null ? Promise.resolve() : Promise.race([kept, aborted(signal)])
    return this.#booked
  }

  #record(outcome: RequestRecord['outcome'], errorCode: string | null, usage: GatewayUsage | null): RequestRecord {
    const { provider, catalogId, price } = this.#model
    const free = usage !== null && usage.inputTokens + usage.outputTokens === 0
    return {
      ...this.#opening,
      provider,
      model: catalogId,
      outcome,
      errorCode,
      usage,
      costUsd: this.#unknownCost ? null : free ? 0 : costOf(usage, price),
      firstTokenMs: this.#firstTokenMs,
      durationMs: Math.round(performance.now() - this.#begunMs),
    }
  }

  #measure(record: RequestRecord): void {
    const { provider, wire, credentialKind: credential, outcome, usage, costUsd, firstTokenMs, durationMs } = record
    const metrics = this.#metrics
    recordModelRequest(record)
    metrics.open.dec()
    metrics.requests.inc({ provider, wire, credential, outcome })
    metrics.duration.observe({ provider, wire }, (durationMs ?? 0) / 1000)
    if (firstTokenMs !== null) metrics.firstToken.observe({ provider, wire }, firstTokenMs / 1000)
    if (costUsd !== null) metrics.cost.inc({ provider, credential }, costUsd)
    if (usage === null) return
    const { cachedInputTokens: read, cacheWriteTokens: written } = usage
    metrics.tokens.inc({ provider, credential, kind: 'input' }, usage.inputTokens - read - written)
    metrics.tokens.inc({ provider, credential, kind: 'cached_input' }, read)
    metrics.tokens.inc({ provider, credential, kind: 'cache_write' }, written)
    metrics.tokens.inc({ provider, credential, kind: 'output' }, usage.outputTokens)
    metrics.tokens.inc({ provider, credential, kind: 'reasoning' }, usage.reasoningTokens)
  }
}
