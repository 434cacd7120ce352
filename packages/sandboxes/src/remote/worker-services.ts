import { type IncomingMessage, request, type ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import type { SandboxEgress, SandboxService } from '../driver.ts'
import { relay, sentOn } from '../egress/proxy-forward.ts'
import { forwardedHeaders } from '../egress/proxy-headers.ts'

/** Opens a stream to the worker that holds this host, and says what it is for. */
export type CallBack = (message: unknown, signal: AbortSignal) => Promise<Duplex>

/** Longest wait for a worker: a host that is dialling again may find one meanwhile. */
const AWAY_MS = 15_000

/** Everything of a worker that a sandbox reaches. */
export type WorkerServices = Required<Pick<SandboxEgress, 'gateway' | 'service' | 'proxy'>>

/**
 * Returns the gateway and the service of a host's sandbox: the worker's, which answers each request over a stream of the
 * line. The request goes as it came, so this host learns no credential.
 */
export function workerServices(callBack: CallBack) {
  return (leaseId: string): WorkerServices => ({
    gateway: serviceOf(callBack, { leaseId, to: 'gateway' }),
    service: serviceOf(callBack, { leaseId, to: 'service' }),
    proxy: signal => callBack({ leaseId, to: 'proxy' }, AbortSignal.any([signal, AbortSignal.timeout(AWAY_MS)])),
  })
}

function serviceOf(callBack: CallBack, message: object): SandboxService {
  return {
    async answer(incoming, outgoing, target) {
      const left = new AbortController()
      outgoing.once('close', () => left.abort(new Error('the client left')))
      try {
        const stream = await callBack(message, AbortSignal.any([left.signal, AbortSignal.timeout(AWAY_MS)]))
        const upstream = request({
          createConnection: () => stream,
          path: target,
          ...sentOn(incoming, [
            ...['Host', incoming.headers.host ?? 'berth', 'Connection', 'close'],
            ...forwardedHeaders(incoming.rawHeaders, ['host', 'expect', 'content-length']),
          ]),
        })
        await relay(incoming, outgoing, upstream)
      } catch {
        if (outgoing.headersSent || left.signal.aborted) outgoing.destroy()
        else answerAway(incoming, outgoing)
      }
    },
  }
}

function answerAway(incoming: IncomingMessage, outgoing: ServerResponse): void {
  incoming.resume()
  outgoing.writeHead(503, { 'Content-Type': 'text/plain; charset=utf-8', 'Retry-After': '2' })
  outgoing.end('the service of this machine is away; try again\n')
}
