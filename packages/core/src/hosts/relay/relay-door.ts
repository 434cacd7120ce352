import { once } from 'node:events'
import { type ClientRequest, type IncomingMessage, request as plainRequest } from 'node:http'
import { request as secureRequest } from 'node:https'
import type { Duplex } from 'node:stream'
import { SandboxGoneError } from '@berth/sandboxes/driver.ts'
import type { SupervisorDoor } from '@berth/sandboxes/leases/supervisor-door.ts'
import type { RelayTokens } from './relay-tokens.ts'

/** Names the protocol behind the upgrade: the bytes of a supervisor's stream, as they are. */
export const RELAY_PROTOCOL = 'berth-sandbox/1'
/** How long another process may take to say whether a sandbox stands still. */
const STATE_MS = 2_000

/** Another process of the deployment did not pass the connection on. */
export class RelayFailed extends Error {
  override readonly name = 'RelayFailed'
}

/** Returns the path of a sandbox at a relay. */
export const relayPath = (host: string, leaseId: string): string =>
  `/sandboxes/${encodeURIComponent(host)}/${encodeURIComponent(leaseId)}`

/** The way to the sandboxes of a host through the process that holds it. */
export function relayDoor(url: string, host: string, tokens: Pick<RelayTokens, 'mint'>): SupervisorDoor {
  const ask = (leaseId: string, signal: AbortSignal, more: Readonly<Record<string, string>> = {}): ClientRequest => {
    const target = new URL(relayPath(host, leaseId), url)
    const send = target.protocol === 'https:' ? secureRequest : plainRequest
    const headers = { authorization: `Bearer ${tokens.mint(leaseId)}`, ...more }
    // Either side of a connection to a port may end before the other.
    const sent = send(target, { agent: false, headers, signal, ...{ allowHalfOpen: true } })
    return sent.on('error', () => undefined)
  }
  return {
    async attach(leaseId, signal) {
      const sent = ask(leaseId, signal, { connection: 'Upgrade', upgrade: RELAY_PROTOCOL })
      sent.end()
      const stream = await Promise.race([upgraded(sent), refused(sent, leaseId)])
      return stream
    },
    async isStopped(leaseId) {
      const sent = ask(leaseId, AbortSignal.timeout(STATE_MS))
      sent.end()
      try {
        const [response] = (await once(sent, 'response')) as [IncomingMessage]
        response.resume()
        return response.headers['berth-sandbox-state'] === 'stopped'
      } catch {
        // Whoever connects finds out.
        return false
      }
    },
  }
}

async function upgraded(sent: ClientRequest): Promise<Duplex> {
  const [, socket, head] = (await once(sent, 'upgrade')) as [IncomingMessage, Duplex, Buffer]
  if (head.length > 0) socket.unshift(head)
  // It belongs to its reader, who sees that it is over.
  return socket.on('error', () => undefined)
}

/** Never resolves. @throws SandboxGoneError or RelayFailed */
async function refused(sent: ClientRequest, leaseId: string): Promise<never> {
  const { promise, reject } = Promise.withResolvers<never>()
  sent.once('response', (response: IncomingMessage) => {
    response.resume()
    reject(
      response.statusCode === 410
        ? new SandboxGoneError(`the supervisor of sandbox ${leaseId} is dead`)
        : new RelayFailed(`the process that holds sandbox ${leaseId} answered ${response.statusCode}`),
    )
  })
  sent.once('error', cause => reject(new RelayFailed('the process of the sandbox is not there', { cause })))
  return promise
}
