import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import { ClientLeft } from '../kit/client-left.ts'
import type { Clock } from '../kit/clock.ts'
import { refusal } from '../kit/refusal.ts'
import { UpstreamError } from '../kit/upstream-error.ts'
import type { Booking } from './accounting/booking.ts'
import type { GatewayMetrics } from './accounting/gateway-metrics.ts'
import { refuseSpent } from './accounting/refuse-spent.ts'
import { RequestMeter } from './accounting/request-meter.ts'
import { saysSomething } from './formats/chat-tap.ts'
import { passThrough } from './pass-through.ts'
import type { ModelCatalog } from './providers/model-catalog.ts'
import type { ModelRequest } from './providers/model-request.ts'
import type { ProviderClient } from './providers/provider-client.ts'
import type { CallTranslated, ResolvedModel, TranslatedCall, TranslatedWire } from './providers/upstream.ts'
import { mayFallBack, mayHaveCost, mayRetry, upstreamError } from './providers/upstream-status.ts'
import { isTranslated, refuseFormat, refuseMeaningless, refuseState, serves } from './request-rules.ts'

/** What the gateway works with. */
export interface Gateway {
  readonly catalog: ModelCatalog
  readonly clients: ReadonlyMap<string, ProviderClient>
  readonly booking: Booking
  readonly metrics: GatewayMetrics
  readonly clock: Clock
  readonly callTranslated: CallTranslated
  readonly tools: Pick<TranslatedCall, 'ids' | 'seal' | 'open'>
  readonly limits: { readonly totalMs: number; readonly retries: number; readonly retryWaitMs: number }
}

/** JSON at once, or whole server-sent events. */
export type ModelAnswer = Buffer | string | AsyncIterable<Buffer | string>

interface Attempt {
  readonly model: ResolvedModel
  readonly meter: RequestMeter
  readonly signal: AbortSignal
  /** Ends the attempt's clock. */
  readonly release: () => void
}

/**
 * Answers a request with the model it names or, before anything was answered, with what may take its place.
 * @throws ApiError 400, 402, 404, 429, 503; UpstreamError with what the last provider said
 */
export async function serveRequest(gateway: Gateway, request: ModelRequest): Promise<ModelAnswer> {
  refuseState(request.wire, request.body)
  const [first, ...others] = await candidatesOf(gateway, request)
  const candidates = [first, ...others]
  refuseMeaningless(request.body, first)
  refuseSpent(request.caller, first, gateway.clock.now())
  if (gateway.booking.isFull) throw refusal('service_unavailable')

  const meter = new RequestMeter(gateway, request, first)
  const { signal, release } = bounded(request.signal, gateway.limits.totalMs)
  try {
    return await tryEach(gateway, request, candidates, { meter, signal, release })
  } catch (error) {
    release()
    await meter.failed(error, request.signal.aborted)
    throw error
  }
}

/**
 * The model that a request names, and behind it those that may take its place.
 * @throws ApiError 404 where there is none, 400 where it does not speak the format
 */
export async function candidatesOf(
  { catalog }: Pick<Gateway, 'catalog'>,
  { modelId, wire, caller }: Pick<ModelRequest, 'modelId' | 'wire' | 'caller'>,
): Promise<readonly [ResolvedModel, ...ResolvedModel[]]> {
  const { allowedModels } = caller
  const isAllowed = ({ catalogId }: ResolvedModel) => allowedModels === null || allowedModels.has(catalogId)
  const [first, ...others] = await catalog.candidates(modelId)
  // A fallback serves who may ask for the model, not who may not.
  if (first === undefined || !isAllowed(first)) throw modelNotFound(modelId, catalog.isEmpty)
  if (!serves(first, wire)) throw refuseFormat(modelId, wire, (await catalog.list()).filter(isAllowed))
  return [first, ...others.filter(other => isAllowed(other) && serves(other, wire))]
}

async function tryEach(
  gateway: Gateway,
  request: ModelRequest,
  candidates: readonly ResolvedModel[],
  run: Omit<Attempt, 'model'>,
): Promise<ModelAnswer> {
  for (const [index, model] of candidates.entries()) {
    if (index > 0 && isUnfit(request, model)) continue
    run.meter.servedBy(model)
    try {
      return await tryModel(gateway, request, { ...run, model })
    } catch (error) {
      const last = candidates.slice(index + 1).every(other => isUnfit(request, other))
      if (last || !(error instanceof UpstreamError) || !mayFallBack(error.code) || run.signal.aborted) throw error
      gateway.metrics.fallbacks.inc({ provider: model.provider })
    }
  }
  throw upstreamError('upstream_failed')
}

/** A fallback must not refuse what the model itself would have taken, nor make a Run's cost unknown. */
function isUnfit({ body, caller }: ModelRequest, model: ResolvedModel): boolean {
  try {
    refuseMeaningless(body, model)
  } catch {
    return true
  }
  return caller.run !== null && caller.run.budgetUsd !== null && model.price === undefined
}

async function tryModel(gateway: Gateway, request: ModelRequest, attempt: Attempt): Promise<ModelAnswer> {
  const { retries, retryWaitMs } = gateway.limits
  for (let tried = 0; ; tried += 1) {
    try {
      return await answer(gateway, request, attempt)
    } catch (error) {
      if (!(error instanceof UpstreamError) || attempt.signal.aborted) throw error
      if (mayHaveCost(error.code)) attempt.meter.mayHaveCostMore()
      const waitMs = error.retryAfterSeconds === undefined ? 250 * 2 ** tried : error.retryAfterSeconds * 1000
      if (tried >= retries || !mayRetry(error.code) || waitMs > retryWaitMs) throw error
      gateway.metrics.retries.inc({ provider: attempt.model.provider })
      await sleep(waitMs * (0.75 + Math.random() / 2), undefined, { signal: attempt.signal }).catch(() => {
        throw attempt.signal.reason
      })
    }
  }
}

async function answer(gateway: Gateway, request: ModelRequest, attempt: Attempt): Promise<ModelAnswer> {
  const { model, meter, signal } = attempt
  const client = gateway.clients.get(model.provider)
  if (client === undefined) throw new Error(`the provider ${model.provider} has no client`)
  if (model.wire.includes(request.wire)) {
    const passed = await passThrough(client, {
      ...request,
      model,
      signal,
      beforeEnd: tap => {
        if (tap.begun) meter.firstToken()
        if (tap.partial === true) meter.mayHaveCostMore()
        return meter.beforeEnd(tap.usage, tap.failed)
      },
    })
    if (passed.kind === 'stream') {
      const { tap } = passed
      return metered(passed.pieces, attempt, request, {
        usage: async () => tap.usage,
        begun: () => tap.begun,
        partial: () => tap.partial === true,
        breaksOff: tap.breaksOff === true,
      })
    }
    attempt.release()
    await meter.completed(passed.usage)
    return passed.body
  }
  const { wire, body: sent, places } = request
  // A translation reads every member, and the first that it reads of a large body may parse all of it.
  const body = places === undefined ? sent : { ...sent }
  if (places !== undefined) await nextTurn()
  if (!isTranslated(wire)) throw new Error(`${model.catalogId} was asked in a format that it does not speak`)
  const { clock, tools } = gateway
  const languageModel = await client.languageModel(model.model)
  const beforeEnd: TranslatedCall['beforeEnd'] = (usage, failed) => {
    if (failed) meter.mayHaveCostMore()
    return meter.beforeEnd(usage, failed)
  }
  const { organizationId } = request.caller
  const call = { wire, body, model, languageModel, organizationId, signal, clock, beforeEnd, ...tools }
  const translated = await gateway.callTranslated(call)
  if (translated.kind === 'stream') {
    const { frames, usage } = translated
    const begun = (piece: Buffer | string) => hasBegun(String(piece), wire)
    return metered(frames, attempt, request, { usage: () => usage, begun, partial: () => true })
  }
  attempt.release()
  await meter.completed(translated.usage)
  return JSON.stringify(translated.body)
}

/** Passes a stream on, and books it however it ends: whole, broken, or left by who asked for it. */
async function* metered(
  pieces: AsyncIterable<Buffer | string>,
  { meter, release }: Attempt,
  request: ModelRequest,
  seen: {
    readonly usage: () => Promise<Parameters<RequestMeter['completed']>[0]>
    readonly begun: (piece: Buffer | string) => boolean
    /** What is known of the usage of a stream that was left may be a part of it. */
    readonly partial: () => boolean
    /** A stream that failed is not ended, for its format has no words that every client understands. */
    readonly breaksOff?: boolean
  },
): AsyncGenerator<Buffer | string> {
  let begun = false
  let whole = false
  let failure: unknown = null
  try {
    for await (const piece of pieces) {
      if (!begun && seen.begun(piece)) {
        begun = true
        meter.firstToken()
      }
      yield piece
    }
    whole = true
  } catch (error) {
    failure = error
    // The stream has said it in its own words.
    if (!(error instanceof UpstreamError) || seen.breaksOff === true) throw error
  } finally {
    release()
    const usage = await seen.usage()
    if (!whole && seen.partial()) meter.mayHaveCostMore()
    if (whole) await meter.completed(usage)
    else await meter.failed(failure, failure === null || request.signal.aborted, usage)
  }
}

/** Whether frames made here hold something that the model said; a role or an item that is still empty is nothing. */
const hasBegun = (frames: string, wire: TranslatedWire) =>
  wire === 'chat' ? saysSomething(frames) : frames.includes('"delta":"')

/** The client's signal, and a bound on the whole: a provider that drips for ever ends as well. */
function bounded(signal: AbortSignal, totalMs: number): { signal: AbortSignal; release: () => void } {
  const controller = new AbortController()
  const leave = () => {
    const { reason } = signal
    // A stopping service has a refusal for its reason; a client that left has none.
    const stopping = reason instanceof Error && reason.name === 'ApiError'
    controller.abort(stopping ? upstreamError('service_unavailable') : new ClientLeft('the client left'))
  }
  if (signal.aborted) leave()
  signal.addEventListener('abort', leave, { once: true })
  const timer = setTimeout(() => controller.abort(upstreamError('upstream_timeout')), totalMs)
  return {
    signal: controller.signal,
    release: () => {
      clearTimeout(timer)
      signal.removeEventListener('abort', leave)
    },
  }
}

function modelNotFound(id: string, none: boolean) {
  const message = none
    ? 'No model provider is configured. Name one under `providers` in the configuration file (BERTH_CONFIG).'
    : `The model '${id}' does not exist or is not open to this credential. GET /v1/models lists those that are; a provider's models are named under \`providers\` in the configuration file (BERTH_CONFIG).`
  return refusal('model_not_found', { message, param: 'model' })
}
