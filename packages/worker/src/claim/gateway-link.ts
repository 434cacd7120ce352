import { Agent as HttpAgent, type IncomingMessage, request, type ServerResponse } from 'node:http'
import { Agent as HttpsAgent, request as secureRequest } from 'node:https'
import { type Dialect, dialectOfSender, type ErrorCode, errors, gatewayErrorBody } from '@berth/contract'
import { gatewayTarget } from '@berth/core/http/request/gateway-target.ts'
import { isGooglePath } from '@berth/core/http/request/request-path.ts'
import { relay, sentOn } from '@berth/sandboxes/egress/proxy-forward.ts'
import { pickedHeaders } from '@berth/sandboxes/egress/proxy-headers.ts'

/** The route of one sandbox to the model gateway. Its members are read for each request. */
export interface GatewayRoute {
  readonly leaseId: string
  /** URL below which the gateway's paths lie. */
  readonly url: string
  /**
   * Aborted once this process stops, with its gateway. A request then gets no answer any more: its connection ends with the
   * worker, and the next process answers the agent, which would take a refusal for the end of its Run.
   */
  readonly stopping?: AbortSignal | undefined
  /** Maximum number of simultaneous gateway requests of the sandbox. */
  readonly mostRequests: number
  /** Returns the credential of the Run that is active in the sandbox, or null if none is. */
  bearer(): string | null
  /**
   * Waits for a Run of the sandbox that no worker has yet, because its last one died. Absent: there is none to wait for.
   * @returns its credential; null if there is no such Run; `late` if nobody took it over in time
   */
  arrival?(): Promise<string | null | 'late'>
}

/** The gateway's paths that a sandbox may call. A model's id may contain slashes, but no step up to another path. */
const paths: readonly RegExp[] = [
  /^\/v1\/(?:responses|chat\/completions|messages(?:\/count_tokens)?)$/,
  /^\/v1\/models(?:\/(?!.*\.\.)[^/#]+)?$/,
  /^\/v1beta\/models(?:\/(?!.*\.\.)[^/#:]+)?$/,
  /^\/v1beta\/models\/(?!.*\.\.)[^/#]+:(?:generateContent|streamGenerateContent|countTokens)$/,
]

/** Returns the dialect in which a request is refused. */
function dialectOf(path: string, { headers }: IncomingMessage): Dialect {
  if (isGooglePath(path)) return 'google'
  return path.startsWith('/v1/messages') ? 'anthropic' : (dialectOfSender(headers) ?? 'openai')
}

/**
 * The agent's headers that are forwarded. Headers that name a caller (a credential, a cookie, an organization, a
 * forwarded address) come from this process alone, so that an agent cannot forge them.
 */
const travelling: ReadonlySet<string> = new Set([
  'accept',
  'accept-encoding',
  'anthropic-beta',
  'anthropic-version',
  'content-encoding',
  'content-type',
  'user-agent',
])

/** Maximum number of idle gateway connections kept for all sandboxes. */
const MAX_IDLE_CONNECTIONS = 64
/** Maximum silence of a gateway, before or within an answer. */
const SILENCE_MS = 15 * 60_000

/** The connections from a worker's sandboxes to the gateway, with keep-alive. */
export interface GatewayLink extends Disposable {
  /**
   * Forwards a request with the active Run's credential, in place of any credential it came with, and returns the
   * answer. Its own refusals have the gateway's form.
   */
  forward(incoming: IncomingMessage, outgoing: ServerResponse, target: string, route: GatewayRoute): Promise<void>
}

/** The part of a logger that the link needs. */
export interface GatewayLog {
  warn(fields: object, message: string): void
}

/**
 * Opens the link to the gateway.
 * @param log receives the cause if the gateway does not answer; the agent learns only the fact
 */
export function openGatewayLink(log: GatewayLog): GatewayLink {
  const options = { keepAlive: true, maxFreeSockets: MAX_IDLE_CONNECTIONS }
  const plain = new HttpAgent(options)
  const secure = new HttpsAgent(options)
  /** Requests of each sandbox that has any. */
  const atOnce = new Map<string, number>()
  return {
    async forward(incoming, outgoing, requested, route) {
      const target = gatewayTarget(requested, incoming)
      const [path = '', query] = target.split(/(?=\?)/, 2)
      const refuse = refuser(incoming, outgoing, dialectOf(path, incoming))
      if (!paths.some(known => known.test(path)))
        return refuse('unknown_endpoint', `${path} is not one of the gateway's paths.`)
      const { leaseId, stopping } = route
      const isStopping = () => stopping?.aborted === true
      if (isStopping()) return closed(outgoing)
      const open = atOnce.get(leaseId) ?? 0
      if (open >= route.mostRequests) {
        return refuse(
          'service_unavailable',
          `This sandbox already has ${open} requests at the gateway; wait for one to end.`,
        )
      }
      atOnce.set(leaseId, open + 1)
      outgoing.once('close', () => {
        const left = (atOnce.get(leaseId) ?? 1) - 1
        if (left === 0) atOnce.delete(leaseId)
        else atOnce.set(leaseId, left)
      })
      const bearer = route.bearer() ?? (await route.arrival?.()) ?? null
      if (bearer === null) {
        const message = 'No Run is active in this sandbox, so it has no credential for the gateway.'
        return refuse('invalid_or_expired_credential', message)
      }
      if (bearer === 'late') return refuse('service_unavailable', 'No worker has taken the Run of this sandbox yet.')
      const { protocol, host, hostname, port, pathname } = new URL(route.url)
      const headers = [
        ...['Host', host, 'Authorization', `Bearer ${bearer}`],
        ...pickedHeaders(incoming.rawHeaders, travelling),
      ]
      const place = {
        hostname: hostname.replace(/^\[(.*)\]$/, '$1'),
        port,
        path: `${pathname.replace(/\/$/, '')}${path}${query ?? ''}`,
        timeout: SILENCE_MS,
        ...sentOn(incoming, headers),
      }
      const upstream =
        protocol === 'https:' ? secureRequest({ ...place, agent: secure }) : request({ ...place, agent: plain })
      upstream.once('timeout', () => upstream.destroy(new Error('the gateway sent nothing in time')))
      try {
        await relay(incoming, outgoing, upstream)
      } catch (error) {
        if (outgoing.headersSent || outgoing.destroyed) {
          outgoing.destroy()
          return
        }
        if (isStopping()) return closed(outgoing)
        log.warn({ err: error, leaseId }, 'the gateway did not answer a sandbox')
        refuse('service_unavailable', 'The gateway cannot be reached.')
      }
    },
    [Symbol.dispose]() {
      plain.destroy()
      secure.destroy()
    },
  }
}

/** Resolves when a connection has ended. */
const closed = (outgoing: ServerResponse): Promise<void> =>
  outgoing.destroyed ? Promise.resolve() : new Promise(resolve => void outgoing.once('close', () => resolve()))

/** Returns a function that refuses a request in the form of its path's clients. */
const refuser =
  (incoming: IncomingMessage, outgoing: ServerResponse, dialect: Dialect) =>
  (code: ErrorCode, message: string): void => {
    const { status, ...rest } = errors[code]
    // Reads and drops the rest of the body: closing while the client still writes would lose the answer.
    incoming.resume()
    outgoing.writeHead(status, {
      'Content-Type': 'application/json; charset=utf-8',
      ...('retryAfterSeconds' in rest && { 'Retry-After': String(rest.retryAfterSeconds) }),
    })
    outgoing.end(JSON.stringify(gatewayErrorBody(dialect, { code, message })))
  }
