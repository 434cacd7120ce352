import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import protobuf from 'protobufjs'

/** A span as a collector got it; ids are hexadecimal, times are milliseconds since 1970. */
export interface CollectedSpan {
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId: string
  readonly name: string
  readonly beganMs: number
  readonly endedMs: number
  readonly attributes: Readonly<Record<string, unknown>>
  readonly links: readonly { readonly traceId: string; readonly spanId: string }[]
  readonly failed: boolean
  readonly resource: Readonly<Record<string, unknown>>
}

/** The part of OpenTelemetry's protocol that carries spans. */
const { root } = protobuf.parse(`
  syntax = "proto3";
  message Request { repeated ResourceSpans resource_spans = 1; }
  message ResourceSpans { Resource resource = 1; repeated ScopeSpans scope_spans = 2; }
  message Resource { repeated KeyValue attributes = 1; }
  message ScopeSpans { repeated Span spans = 2; }
  message Span {
    bytes trace_id = 1; bytes span_id = 2; bytes parent_span_id = 4; string name = 5; int32 kind = 6;
    fixed64 start_time_unix_nano = 7; fixed64 end_time_unix_nano = 8;
    repeated KeyValue attributes = 9; repeated Link links = 13; Status status = 15;
  }
  message Link { bytes trace_id = 1; bytes span_id = 2; }
  message Status { int32 code = 3; }
  message KeyValue { string key = 1; AnyValue value = 2; }
  message AnyValue { oneof value { string string_value = 1; bool bool_value = 2; int64 int_value = 3; double double_value = 4; } }
`)
const request = root.lookupType('Request')

interface Decoded {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: readonly KeyValue[] }
    readonly scopeSpans: readonly { readonly spans: readonly DecodedSpan[] }[]
  }[]
}

interface KeyValue {
  readonly key: string
  readonly value: Readonly<Record<string, unknown>>
}

interface DecodedSpan {
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId: string
  readonly name: string
  readonly startTimeUnixNano: string
  readonly endTimeUnixNano: string
  readonly attributes: readonly KeyValue[]
  readonly links: readonly { readonly traceId: string; readonly spanId: string }[]
  readonly status: { readonly code: number } | null
}

const hex = (base64: string) => Buffer.from(base64, 'base64').toString('hex')
const valuesOf = (pairs: readonly KeyValue[]) =>
  Object.fromEntries(pairs.map(({ key, value }) => [key, Object.values(value)[0]]))

function spansIn(body: Buffer): CollectedSpan[] {
  const options = { longs: String, bytes: String, arrays: true, defaults: false }
  const { resourceSpans } = request.toObject(request.decode(body), options) as Decoded
  return resourceSpans.flatMap(({ resource, scopeSpans }) =>
    scopeSpans
      .flatMap(({ spans }) => spans)
      .map(span => ({
        traceId: hex(span.traceId),
        spanId: hex(span.spanId),
        parentSpanId: hex(span.parentSpanId ?? ''),
        name: span.name,
        beganMs: Number(BigInt(span.startTimeUnixNano) / 1000n) / 1000,
        endedMs: Number(BigInt(span.endTimeUnixNano) / 1000n) / 1000,
        attributes: valuesOf(span.attributes),
        links: span.links.map(link => ({ traceId: hex(link.traceId), spanId: hex(link.spanId) })),
        failed: span.status?.code === 2,
        resource: valuesOf(resource.attributes),
      })),
  )
}

/** A collector of traces on loopback, which speaks OTLP over HTTP. */
export class Collector implements AsyncDisposable {
  readonly spans: CollectedSpan[] = []
  readonly paths = new Set<string>()
  readonly authorizations = new Set<string | undefined>()
  /** The status that it answers with. */
  status = 200
  readonly #server = createServer(async (incoming, response) => {
    const body = await buffer(incoming)
    this.paths.add(incoming.url ?? '')
    this.authorizations.add(incoming.headers.authorization)
    if (this.status === 200) this.spans.push(...spansIn(body))
    response.writeHead(this.status, { 'content-type': 'application/x-protobuf' }).end()
  })

  static async start(): Promise<Collector> {
    const collector = new Collector()
    await new Promise<void>(resolve => collector.#server.listen(0, '127.0.0.1', resolve))
    return collector
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise(resolve => this.#server.close(resolve))
  }
}
