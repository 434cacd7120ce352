import type { RequestListener } from 'node:http'
import { Readable } from 'node:stream'
import { inject } from 'light-my-request'

/** The listener of this process; null until it listens. */
export type Served = () => RequestListener | null

const bodiless: ReadonlySet<number> = new Set([204, 205, 304])

/**
 * Returns a `fetch` that hands requests to this process's own listener, without a connection. Everything that a request
 * from outside meets, these meet as well: the guard, the contract, the limits and the log.
 * @param clientAddress of the caller on whose behalf the requests are made
 */
export function fetchFromSelf(served: Served, clientAddress: string): typeof globalThis.fetch {
  return async (input, init = {}) => {
    const listener = served()
    if (listener === null) throw new Error('the service does not listen yet')
    const signal = init.signal ?? undefined
    signal?.throwIfAborted()
    const response = await inject((request, response) => listener(request as never, response as never), {
      method: (init.method ?? 'GET') as 'GET',
      url: String(input),
      headers: Object.fromEntries(new Headers(init.headers)),
      ...(typeof init.body === 'string' && { payload: init.body }),
      remoteAddress: clientAddress,
      payloadAsStream: true,
      ...(signal !== undefined && { signal }),
    })
    const headers = new Headers()
    for (const [name, value] of Object.entries(response.headers)) {
      for (const one of [value ?? []].flat()) headers.append(name, String(one))
    }
    const { statusCode: status } = response
    const stream = response.stream()
    if (!bodiless.has(status)) return new Response(Readable.toWeb(stream) as never, { status, headers })
    stream.resume()
    return new Response(null, { status, headers })
  }
}
