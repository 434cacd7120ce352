import type { EgressSecret, EgressTarget, RefusalCode } from '../../driver.ts'
import { judgeHead } from './judge-head.ts'
import type { RequestHead } from './request-head.ts'
import { maskOf } from './response-mask.ts'

/** An answer of the proxy's own, in place of the host's. */
export interface Refusal {
  readonly status: number
  readonly code: string
  readonly message: string
}

/** Hears what becomes of the requests in a connection. */
export interface EdgeEvents {
  used(name: string): void
  refused(code: RefusalCode, reason: string): void
}

/** What the proxy does with the requests of one connection to a host that secrets name. */
export interface Edge {
  /** The host that the client has connected to, and that its certificate is for. */
  readonly host: string
  /** Names of the headers that may hold a secret, in lower case. */
  readonly sensitive: readonly string[]
  /**
   * Returns the head to send, with its secrets, or why nothing is sent.
   * @param authority the host as the request names it
   */
  judge(head: RequestHead, authority: string | undefined): RequestHead | Refusal
  /** Returns headers of a response without the values of secrets. */
  masked(headers: RequestHead['headers']): RequestHead['headers']
}

/** Decides about the requests of a connection to one target. */
export function openEdge(
  secrets: readonly EgressSecret[],
  { host, port }: EgressTarget,
  events: EdgeEvents,
  fault?: string,
): Edge {
  const refuse = (status: number, code: string, message: string): Refusal => {
    events.refused(code === 'secret_not_for_host' ? code : 'policy', `${code}: ${message}`)
    return { status, code, message: `refused by the sandbox's proxy: ${message}. Nothing was sent to ${host}.` }
  }
  const headers = secrets.flatMap(({ put }) => ('header' in put ? [put.header.toLowerCase()] : []))
  return {
    host,
    sensitive: [...new Set(['authorization', ...headers])],
    judge(head, authority) {
      const named = hostOf(authority, port)
      const judged = judgeHead(secrets, { host: named === host ? host : (named ?? 'no host'), isSecure: true }, head)
      if (judged.kind === 'refuse') return refuse(403, 'secret_not_for_host', judged.reason)
      if (named !== host) return refuse(421, 'host_mismatch', `the request names another host than ${host}`)
      if (fault !== undefined)
        return { status: 502, code: 'upstream_untrusted', message: `${fault}. Nothing was sent.` }
      if (judged.kind === 'pass') return head
      for (const name of judged.names) events.used(name)
      return judged.head
    },
    masked: maskOf(secrets),
  }
}

export const isRefusal = (judged: RequestHead | Refusal): judged is Refusal => 'code' in judged

/** Returns the body of a refusal, which tells an agent what to do. */
export function bodyOf({ code, message }: Refusal): Buffer {
  return Buffer.from(`${JSON.stringify({ error: { code, message } })}\n`)
}

/** Returns the name of an authority whose port is the connection's; undefined for any other. */
function hostOf(authority: string | undefined, port: number): string | undefined {
  const found = /^([^:@/?#\s]+?)\.?(?::(\d{1,5}))?$/.exec(authority ?? '')
  if (found === null || (found[2] !== undefined && Number(found[2]) !== port)) return undefined
  return found[1]?.toLowerCase()
}
