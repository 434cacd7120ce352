import type { Duplex } from 'node:stream'

/**
 * Lets a stream of HTTP/2 take strings as bytes. Node (24) sends strings that it writes together with other parts from memory
 * that it has freed by then, so another's bytes go out in their place.
 */
export function bytesOnly<S extends Duplex>(stream: S): S {
  for (const method of ['write', 'end'] as const) {
    const own = stream[method].bind(stream) as (...args: unknown[]) => unknown
    const encoded = (chunk: unknown, ...rest: unknown[]) => {
      if (typeof chunk !== 'string') return own(chunk, ...rest)
      const [encoding, ...others] = typeof rest[0] === 'function' ? [undefined, ...rest] : rest
      return own(Buffer.from(chunk, (encoding as BufferEncoding | null) ?? 'utf8'), ...others)
    }
    Object.defineProperty(stream, method, { value: encoded, configurable: true, writable: true })
  }
  return stream
}
