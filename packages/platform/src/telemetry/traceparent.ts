import type { SpanPlace } from './observe.ts'

const form = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/

/**
 * Reads a `traceparent` header of W3C Trace Context.
 *
 * @returns null if there is none or it is not valid, so that the request begins a trace of its own
 */
export function readTraceparent(header: string | readonly string[] | undefined): SpanPlace | null {
  const [, version, traceId = '', spanId = '', flags = '', more] = form.exec(String(header ?? '')) ?? []
  // Version 00 has exactly four parts; a later one may have more.
  if (version === undefined || version === 'ff' || (version === '00' && more !== undefined)) return null
  if (/^0+$/.test(traceId) || /^0+$/.test(spanId)) return null
  return { traceId, spanId, sampled: (Number.parseInt(flags, 16) & 1) === 1 }
}

/** Returns the `traceparent` of a request that a span sends elsewhere. */
export const traceparentOf = ({ traceId, spanId, sampled }: SpanPlace): string =>
  `00-${traceId}-${spanId}-${sampled === false ? '00' : '01'}`
