import { AsyncLocalStorage } from 'node:async_hooks'
import { createHash, randomBytes } from 'node:crypto'

/** A span of a trace, in the hexadecimal form of W3C Trace Context: 32 and 16 digits. */
export interface SpanPlace {
  readonly traceId: string
  readonly spanId: string
  /** False if the caller that began the trace keeps none of it. */
  readonly sampled?: boolean
}

export type Attributes = Readonly<Record<string, string | number | boolean>>

/** The Run that a fact is about. */
export interface RunOf {
  readonly organizationId: string
  readonly sessionId: string
  readonly runId: string
}

/** The owner of a piece of work: a Run, or with a null its Session alone, whose work is in no Turn's trace. */
export type WorkOf = Omit<RunOf, 'runId'> & { readonly runId: string | null }

/** The steps of a Turn that are observed. Each is a span of the Turn's trace and a value of a metric's label. */
export type StepName =
  | 'admit'
  | 'queue'
  | 'provision'
  | 'create sandbox'
  | 'find checkout'
  | 'find tree'
  | 'place source'
  | 'restore'
  | 'bring commits'
  | 'apply environment'
  | 'attach'
  | 'start agent'
  | 'prompt'
  | 'tool call'
  | 'wait for people'
  | 'model request'
  | 'seal'
  | 'review'

/** A step that is over. */
export interface Step {
  readonly of: RunOf
  readonly name: StepName
  /** Milliseconds since 1970, with fractions. */
  readonly beganMs: number
  readonly endedMs: number
  readonly attributes: Attributes
  /** Name of the error that ended it; null if none did. */
  readonly error: string | null
  readonly place: SpanPlace
  readonly parent: SpanPlace
  /** The request that caused it, in a trace of its own. */
  readonly cause: SpanPlace | null
}

/** Tokens of model requests. Those of caches are part of the input. */
export interface SpentTokens {
  readonly inputTokens: number
  readonly cachedInputTokens: number
  readonly cacheWriteTokens: number
  readonly outputTokens: number
}

/** Returns tokens by the names that OpenTelemetry gives them. */
export const tokenAttributes = (tokens: SpentTokens | null): Attributes =>
  tokens === null
    ? {}
    : {
        'gen_ai.usage.input_tokens': tokens.inputTokens,
        'gen_ai.usage.cache_read.input_tokens': tokens.cachedInputTokens,
        'gen_ai.usage.cache_creation.input_tokens': tokens.cacheWriteTokens,
        'gen_ai.usage.output_tokens': tokens.outputTokens,
      }

/** A Run that has ended; the transaction that ended it has committed. */
export interface EndedRun {
  readonly of: RunOf
  readonly status: string
  readonly stopReason: string | null
  readonly errorCode: string | null
  readonly runtime: string | null
  readonly model: string | null
  readonly attempts: number
  /** Tokens of all its model requests; null if it sent none. */
  readonly tokens: SpentTokens | null
  readonly queuedAt: Date
  readonly endedAt: Date
}

/** A request that the service has answered. */
export interface ServedRequest {
  readonly method: string
  /** Pattern of the route, without values. */
  readonly route: string
  readonly status: number
  readonly requestId: string
  readonly beganMs: number
  readonly endedMs: number
  readonly place: SpanPlace
  /** The caller's span; null if it sent none. */
  readonly parent: SpanPlace | null
}

/** Takes facts as they happen. It must not throw, and must not take long: it runs on the way of a Turn. */
export interface Observer {
  step?(step: Step): void
  runEnded?(run: EndedRun): void
  request?(request: ServedRequest): void
}

const observers = new Set<Observer>()
const current = new AsyncLocalStorage<SpanPlace>()

/** Adds an observer of everything that this process does, until the returned handle is disposed of. */
export function addObserver(observer: Observer): Disposable {
  observers.add(observer)
  return { [Symbol.dispose]: () => void observers.delete(observer) }
}

/**
 * Returns the root of a Turn's trace. Its ids follow from the Run's id, so every process that works on the Run, one
 * after another or at once, adds to the same trace without having heard of the others.
 */
export function rootOf(runId: string): SpanPlace {
  const traceId = runId.replaceAll('-', '').toLowerCase()
  return { traceId, spanId: createHash('sha256').update(traceId).digest('hex').slice(0, 16) }
}

/** Returns a new span's place in the trace of another. */
export function placeIn(traceId: string): SpanPlace {
  return { traceId, spanId: randomBytes(8).toString('hex') }
}

/** Adds attributes to a step while it goes on. */
export type Note = (attributes: Attributes) => void

/** Runs `work` as a step of a Run: within another step of it, or else directly below the Turn. */
export async function observed<T>(owner: WorkOf, name: StepName, work: (note: Note) => Promise<T>): Promise<T> {
  const { organizationId, sessionId, runId } = owner
  if (observers.size === 0 || runId === null) return work(() => undefined)
  const of: RunOf = { organizationId, sessionId, runId }
  const { place, parent, cause } = placesFor(of)
  const beganMs = nowMs()
  let attributes: Attributes = {}
  let error: string | null = null
  const note: Note = more => {
    attributes = { ...attributes, ...more }
  }
  try {
    return await current.run(place, () => work(note))
  } catch (failure) {
    error = failure instanceof Error ? failure.name : 'Error'
    throw failure
  } finally {
    recordStep({ of, name, beganMs, endedMs: nowMs(), attributes, error, place, parent, cause })
  }
}

/** Tells of a step that is already over. */
export function recordPast(
  { organizationId, sessionId, runId }: RunOf,
  name: StepName,
  { beganMs, endedMs = nowMs(), attributes = {}, error = null }: PastStep,
): void {
  if (observers.size === 0) return
  const of: RunOf = { organizationId, sessionId, runId }
  recordStep({ of, name, beganMs, endedMs, attributes, error, ...placesFor(of) })
}

/** When a past step began and ended, in milliseconds since 1970; absent: it ends now. */
export interface PastStep {
  readonly beganMs: number
  readonly endedMs?: number
  readonly attributes?: Attributes
  readonly error?: string | null
}

/** Tells that a Run has ended. Call it once the transaction has committed. */
export function recordRunEnded(run: EndedRun): void {
  for (const observer of observers) observer.runEnded?.(run)
}

/** Tells of a request that was answered. */
export function recordRequest(request: ServedRequest): void {
  for (const observer of observers) observer.request?.(request)
}

/** Calls `work` on behalf of a span: steps of Runs that it causes point to it. */
export function within<T>(place: SpanPlace, work: () => T): T {
  return current.run(place, work)
}

/** Milliseconds since 1970, with fractions. */
export const nowMs = (): number => performance.timeOrigin + performance.now()

function placesFor({ runId }: RunOf): Pick<Step, 'place' | 'parent' | 'cause'> {
  const root = rootOf(runId)
  const around = current.getStore()
  const inside = around?.traceId === root.traceId
  return {
    place: placeIn(root.traceId),
    parent: around !== undefined && inside ? around : root,
    cause: around !== undefined && !inside ? around : null,
  }
}

function recordStep(step: Step): void {
  for (const observer of observers) observer.step?.(step)
}
