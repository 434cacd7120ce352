import { setTimeout as sleep } from 'node:timers/promises'
import type { Booking } from '@berth/core/accounting/booking.ts'
import { hideEndUser } from '@berth/core/accounting/end-user.ts'
import type { GatewayMetrics } from '@berth/core/accounting/gateway-metrics.ts'
import type { ModelRequest } from '@berth/core/accounting/model-request.ts'
import { mostCostOf } from '@berth/core/accounting/most-cost.ts'
import { needsPrice, refuseSpent } from '@berth/core/accounting/refuse-spent.ts'
import { openRecord, RequestMeter } from '@berth/core/accounting/request-meter.ts'
import {
  type CallTranslated,
  noUsage,
  type ResolvedModel,
  type TranslatedCall,
  type TranslatedWire,
} from '@berth/core/accounting/upstream.ts'
import { mayFallBack, mayHaveCost, mayRetry, upstreamError } from '@berth/core/accounting/upstream-status.ts'
import type { GatewayCaller } from '@berth/core/identity/guard/gateway-caller.ts'
import { ApiError } from '@berth/platform/kit/api-error.ts'
import { ClientLeft } from '@berth/platform/kit/client-left.ts'
import type { Clock } from '@berth/platform/kit/clock.ts'
import { refusal } from '@berth/platform/kit/refusal.ts'
import { UpstreamError } from '@berth/platform/kit/upstream-error.ts'
import { digestId } from '@berth/platform/kit/uuid.ts'
import { hasContent } from './formats/chat-relay.ts'
import { type BudgetParts, holdToBudgets } from './hold-to-budgets.ts'
import { passThrough, type WrittenCall, writeCall } from './pass-through.ts'
import type { ModelCatalog } from './providers/model-catalog.ts'
import type { ProviderClient } from './providers/provider-client.ts'
import { markUnsent, wasUnsent } from './providers/upstream-answer.ts'
import { isTranslated, refuseFormat, refuseMeaningless, refuseState, serves } from './request-rules.ts'

/** The gateway's parts. */
export interface Gateway {
  readonly catalog: ModelCatalog
  readonly clients: ReadonlyMap<string, ProviderClient>
  readonly booking: Booking
  readonly metrics: GatewayMetrics
  readonly clock: Clock
  readonly budgets: BudgetParts
  readonly callTranslated: CallTranslated
  readonly tools: Pick<TranslatedCall, 'ids' | 'seal' | 'open'>
  readonly limits: { readonly totalMs: number; readonly retries: number; readonly retryWaitMs: number }
}

/** JSON, or a stream of whole server-sent events. */
export type ModelAnswer = Buffer | string | AsyncIterable<Buffer | string>

interface Attempt {
  readonly model: ResolvedModel
  readonly meter: RequestMeter
  readonly signal: AbortSignal
  /** Stops the attempt's timer. */
  readonly release: () => void
}

/**
 * Answers a request with the model that it names, or with a fallback if no answer has begun.
 * @throws ApiError 400, 402, 404, 429 or 503, or UpstreamError with the last provider's message
 */
export async function serveRequest(gateway: Gateway, received: ModelRequest): Promise<ModelAnswer> {
  const request = hideEndUser(received)
  if (gateway.booking.isFull) throw refusal('service_unavailable')
  const { candidates, row } = await admit(gateway, request).catch(async error => {
    // A request that its client gave up says nothing of the Run.
    if (!request.signal.aborted) await bookRefusal(gateway, request, error)
    throw error
  })

  const meter = new RequestMeter(gateway, request, candidates[0], row)
  const { signal, release } = bounded(request.signal, gateway.limits.totalMs)
  try {
    return await tryEach(gateway, request, candidates, { meter, signal, release })
  } catch (error) {
    release()
    await meter.failed(error, request.signal.aborted, wasUnsent(signal) ? noUsage : null)
    throw error
  }
}

/** Returns whether a caller may use a model. */
export const isOpen = (
  { catalogId }: ResolvedModel,
  { allowedModels }: Pick<GatewayCaller, 'allowedModels'>,
): boolean => allowedModels === null || allowedModels.has(catalogId)

interface Admitted {
  readonly candidates: readonly [ResolvedModel, ...ResolvedModel[]]
  readonly row: ConstructorParameters<typeof RequestMeter>[3]
}

/** Returns the models that may answer, if the request may be sent to any. */
async function admit(gateway: Gateway, request: ModelRequest): Promise<Admitted> {
  refuseState(request.wire, request.body)
  const candidates = await candidatesOf(gateway, request)
  refuseMeaningless(request.body, candidates[0])
  refuseSpent(request.caller, candidates[0], gateway.clock.now())
  const isRun = request.caller.run !== null
  const { budgets, booking, clock } = gateway
  // A budget that is set while the request is under way holds it as well.
  const held = isRun ? { reservedUsd: mostCostOf(request, candidates), holder: budgets.holder } : undefined
  const opening = openRecord(request, candidates[0], clock.now(), held)
  const stored = await holdToBudgets({ ...budgets, booking }, request, opening)
  if (stored !== null) return { candidates, row: { opening: stored, is: 'stored' } }
  // A Run's cost is read when the Run ends, so a request that never settles must already have a row.
  return { candidates, row: { opening, is: isRun ? 'due' : 'never' } }
}

/**
 * Books a Run's request that reached no provider: the end of the Run is judged by its last request. All that are refused
 * for one cause share a row, which is the last one's: an agent may repeat such a request for ever, at no cost. A model that
 * the Run may not use is not booked, since an agent may try models of its own choice beside the Run's.
 */
async function bookRefusal(gateway: Gateway, request: ModelRequest, error: unknown): Promise<void> {
  const { organizationId, run } = request.caller
  if (run === null) return
  const [model] = await gateway.catalog.candidates(request.modelId)
  if (model === undefined || !isOpen(model, request.caller)) return
  const cause = error instanceof ApiError ? error.code : 'internal_error'
  const rowId = digestId(JSON.stringify(['refused', organizationId, run.sessionId, run.runId, cause]))
  const opening = { ...openRecord(request, model, gateway.clock.now()), id: rowId }
  await new RequestMeter(gateway, request, model, { opening, is: 'never' }).failed(error, false, noUsage)
}

/**
 * Returns the model that a request names, followed by its fallbacks.
 * @throws ApiError 404 if there is no such model, 400 if it does not speak the format
 */
export async function candidatesOf(
  { catalog }: Pick<Gateway, 'catalog'>,
  { modelId, wire, caller }: Pick<ModelRequest, 'modelId' | 'wire' | 'caller'>,
): Promise<readonly [ResolvedModel, ...ResolvedModel[]]> {
  const isAllowed = (model: ResolvedModel) => isOpen(model, caller)
  const [first, ...others] = await catalog.candidates(modelId)
  // A fallback is open only to callers that may use the requested model.
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

/** Returns whether a fallback would refuse a field that the model supports, or make a cost unknown that a budget counts. */
function isUnfit({ body, caller }: ModelRequest, model: ResolvedModel): boolean {
  try {
    refuseMeaningless(body, model)
  } catch {
    return true
  }
  return model.price === undefined && needsPrice(caller)
}

async function tryModel(gateway: Gateway, request: ModelRequest, attempt: Attempt): Promise<ModelAnswer> {
  const { retries, retryWaitMs } = gateway.limits
  const { model } = attempt
  const call = model.wire.includes(request.wire) ? writeCall({ ...request, body: request.exactBody, model }) : null
  for (let tried = 0; ; tried += 1) {
    if (attempt.signal.aborted) throw markUnsent(attempt.signal)
    try {
      return await answer(gateway, request, attempt, call)
    } catch (error) {
      if (!(error instanceof UpstreamError) || attempt.signal.aborted) throw error
      if (mayHaveCost(error.code)) attempt.meter.mayHaveCostMore()
      const waitMs = error.retryAfterSeconds === undefined ? 250 * 2 ** tried : error.retryAfterSeconds * 1000
      if (tried >= retries || !mayRetry(error.code) || waitMs > retryWaitMs) throw error
      gateway.metrics.retries.inc({ provider: model.provider })
      await sleep(waitMs * (0.75 + Math.random() / 2), undefined, { signal: attempt.signal }).catch(() => {})
    }
  }
}

/** @param call the request as it goes to a provider that speaks its format; null if it is translated */
async function answer(
  gateway: Gateway,
  request: ModelRequest,
  attempt: Attempt,
  call: WrittenCall | null,
): Promise<ModelAnswer> {
  const { model, meter, signal } = attempt
  const client = gateway.clients.get(model.provider)
  if (client === undefined) throw new Error(`the provider ${model.provider} has no client`)
  if (call !== null) {
    const passed = await passThrough(client, call, {
      ...request,
      body: request.exactBody,
      model,
      signal,
      clock: gateway.clock,
      beforeEnd: relay => {
        if (relay.begun) meter.firstToken()
        if (relay.partial === true) meter.mayHaveCostMore()
        return meter.beforeEnd(relay.usage, relay.failed)
      },
    })
    if (passed.kind === 'stream') {
      const { relay } = passed
      return metered(passed.pieces, attempt, request, {
        usage: async () => relay.usage,
        begun: () => relay.begun,
        partial: () => relay.partial === true,
        breaksOff: relay.breaksOff === true,
      })
    }
    attempt.release()
    await meter.completed(passed.usage)
    return passed.body
  }
  const { wire, body } = request
  if (!isTranslated(wire)) throw new Error(`${model.catalogId} cannot be called in the format ${wire}`)
  const { clock, tools } = gateway
  const languageModel = await client.languageModel(model.model)
  const beforeEnd: TranslatedCall['beforeEnd'] = (usage, failed) => {
    if (failed) meter.mayHaveCostMore()
    return meter.beforeEnd(usage, failed)
  }
  const { organizationId } = request.caller
  const translation = { wire, body, model, languageModel, organizationId, signal, clock, beforeEnd, ...tools }
  const translated = await gateway.callTranslated(translation)
  if (translated.kind === 'stream') {
    const { frames, usage } = translated
    const begun = (piece: Buffer | string) => hasBegun(String(piece), wire)
    return metered(frames, attempt, request, { usage: () => usage, begun, partial: () => true })
  }
  attempt.release()
  await meter.completed(translated.usage)
  return JSON.stringify(translated.body)
}

/** Passes a stream on and books it when it ends, breaks or is abandoned by the client. */
async function* metered(
  pieces: AsyncIterable<Buffer | string>,
  { meter, release }: Attempt,
  request: ModelRequest,
  seen: {
    readonly usage: () => Promise<Parameters<RequestMeter['completed']>[0]>
    readonly begun: (piece: Buffer | string) => boolean
    /** Whether the usage of an abandoned stream may be incomplete. */
    readonly partial: () => boolean
    /** Whether a failed stream is broken off, because its format has no error frame that every client knows. */
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
    // The stream has already reported it in its own format.
    if (!(error instanceof UpstreamError) || seen.breaksOff === true) throw error
  } finally {
    release()
    const usage = await seen.usage()
    if (!whole && seen.partial()) meter.mayHaveCostMore()
    if (whole) await meter.completed(usage)
    else await meter.failed(failure, failure === null || request.signal.aborted, usage)
  }
}

/** Returns whether translated frames hold model output; a role or an empty item does not count. */
const hasBegun = (frames: string, wire: TranslatedWire) =>
  wire === 'chat' ? hasContent(frames) : frames.includes('"delta":"')

/**
 * Combines the client's signal with a limit on the whole request, which also ends a provider that sends slowly for
 * ever.
 */
function bounded(signal: AbortSignal, totalMs: number): { signal: AbortSignal; release: () => void } {
  const controller = new AbortController()
  const leave = () => {
    const { reason } = signal
    // The reason of a stopping service is a refusal; a client that left has none.
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
