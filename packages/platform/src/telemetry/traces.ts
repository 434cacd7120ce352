import {
  type Attributes,
  type Context,
  type Link,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  type Tracer,
  trace,
} from '@opentelemetry/api'
import { resourceFromAttributes } from '@opentelemetry/resources'
import {
  BatchSpanProcessor,
  type IdGenerator,
  ParentBasedSampler,
  RandomIdGenerator,
  type SpanExporter,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace'
import {
  type EndedRun,
  type Observer,
  type RunOf,
  rootOf,
  type ServedRequest,
  type SpanPlace,
  type Step,
  tokenAttributes,
} from './observe.ts'

/** Time that an exporter gets at a stop for the spans that are not sent yet. */
const LAST_SPANS_MS = 5_000

export interface TraceOptions {
  readonly exporter: SpanExporter
  /** Part of the traces that is kept, from 0 to 1. Every process decides alike about a Turn. */
  readonly ratio: number
  /** Names this process to the collector. */
  readonly resource: Readonly<Record<string, string>>
}

/** Makes spans of the facts that it is told and hands them to an exporter, in batches and off the way of a Turn. */
export class Traces implements Observer, AsyncDisposable {
  readonly #provider: TracerProvider
  readonly #tracer: Tracer
  readonly #ids = new GivenIds()
  readonly #sampler: TraceIdRatioBasedSampler

  constructor({ exporter, ratio, resource }: TraceOptions) {
    this.#sampler = new TraceIdRatioBasedSampler(ratio)
    this.#provider = new TracerProvider({
      idGenerator: this.#ids,
      resource: resourceFromAttributes({ ...resource }),
      sampler: new ParentBasedSampler({ root: this.#sampler }),
      spanProcessors: [new BatchSpanProcessor({ exporter })],
    })
    this.#tracer = this.#provider.getTracer('berth', resource['service.version'])
  }

  step({ of, name, beganMs, endedMs, attributes, error, place, parent, cause }: Step): void {
    this.#record({
      name: name === 'tool call' || name === 'model request' ? nameOf(name, attributes) : name,
      kind: name === 'model request' ? SpanKind.CLIENT : SpanKind.INTERNAL,
      attributes: { ...attributesOf(of), ...attributes, ...(error !== null && { 'error.type': error }) },
      failed: error !== null,
      times: [beganMs, endedMs],
      links: cause === null ? [] : [cause],
      place,
      parent,
    })
  }

  runEnded(run: EndedRun): void {
    const { status, stopReason, errorCode, runtime, model, attempts, tokens, queuedAt, endedAt } = run
    const agent = runtime ?? 'native'
    this.#record({
      name: `invoke_agent ${agent}`,
      kind: SpanKind.SERVER,
      attributes: {
        ...attributesOf(run.of),
        'berth.run.status': status,
        'berth.run.attempts': attempts,
        ...(stopReason !== null && { 'berth.run.stop_reason': stopReason }),
        ...(errorCode !== null && { 'error.type': errorCode }),
        'gen_ai.operation.name': 'invoke_agent',
        'gen_ai.agent.name': agent,
        ...tokenAttributes(tokens),
        ...(model !== null && { 'gen_ai.request.model': model }),
      },
      failed: status === 'failed' || status === 'crashed',
      times: [queuedAt.getTime(), endedAt.getTime()],
      links: [],
      place: rootOf(run.of.runId),
      parent: null,
    })
  }

  request({ method, route, status, requestId, beganMs, endedMs, place, parent }: ServedRequest): void {
    this.#record({
      name: `${method} ${route}`,
      kind: SpanKind.SERVER,
      attributes: {
        'http.request.method': method,
        'http.route': route,
        'http.response.status_code': status,
        'berth.request.id': requestId,
      },
      failed: status >= 500,
      times: [beganMs, endedMs],
      links: [],
      place,
      parent,
    })
  }

  /** Sends the spans that are left, for a bounded time. */
  async [Symbol.asyncDispose](): Promise<void> {
    const late = Promise.withResolvers<void>()
    const timer = setTimeout(late.resolve, LAST_SPANS_MS)
    await Promise.race([this.#provider.shutdown().catch(() => undefined), late.promise])
    clearTimeout(timer)
  }

  #record(span: SpanFacts): void {
    const { name, kind, attributes, failed, times, links, place, parent } = span
    this.#ids.next = place
    const context = parent === null ? ROOT_CONTEXT : this.#contextOf(parent)
    const linked: Link[] = links.map(({ traceId, spanId }) => ({
      context: { traceId, spanId, traceFlags: TraceFlags.SAMPLED },
    }))
    const started = this.#tracer.startSpan(
      name,
      { kind, attributes, links: linked, startTime: times[0], root: parent === null },
      context,
    )
    if (failed) started.setStatus({ code: SpanStatusCode.ERROR })
    started.end(Math.max(...times))
  }

  /** A span's parent may be recorded later, or by another process, so whether it is kept follows from its trace. */
  #contextOf({ traceId, spanId, sampled }: SpanPlace): Context {
    const kept = sampled ?? this.#sampler.shouldSample(ROOT_CONTEXT, traceId).decision !== 0
    const traceFlags = kept ? TraceFlags.SAMPLED : TraceFlags.NONE
    return trace.setSpanContext(ROOT_CONTEXT, { traceId, spanId, traceFlags, isRemote: true })
  }
}

interface SpanFacts {
  readonly name: string
  readonly kind: SpanKind
  readonly attributes: Attributes
  readonly failed: boolean
  readonly times: readonly [beganMs: number, endedMs: number]
  readonly links: readonly SpanPlace[]
  readonly place: SpanPlace
  readonly parent: SpanPlace | null
}

/** Gives the next span the ids that were decided before it began. */
class GivenIds implements IdGenerator {
  readonly #random = new RandomIdGenerator()
  next: SpanPlace | null = null

  generateTraceId(): string {
    return this.next?.traceId ?? this.#random.generateTraceId()
  }

  generateSpanId(): string {
    return this.next?.spanId ?? this.#random.generateSpanId()
  }
}

const attributesOf = ({ organizationId, sessionId, runId }: RunOf): Attributes => ({
  'berth.organization.id': organizationId,
  'berth.session.id': sessionId,
  'gen_ai.conversation.id': sessionId,
  'berth.run.id': runId,
})

/** Names a span after its tool or model, which bounds the names better than their arguments would. */
function nameOf(name: string, attributes: Attributes): string {
  const subject = attributes['gen_ai.tool.name'] ?? attributes['gen_ai.request.model']
  const verb = name === 'tool call' ? 'execute_tool' : 'chat'
  return subject === undefined ? name : `${verb} ${String(subject)}`
}
