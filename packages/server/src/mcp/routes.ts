import { Readable } from 'node:stream'
import { createClient } from '@berth/client'
import { readCredential } from '@berth/core/http/guard/bearer.ts'
import type { Handlers } from '@berth/core/http/routing/handler.ts'
import { answerOverHttp } from '@berth/mcp'
import { refusal } from '@berth/platform/kit/refusal.ts'
import { fetchFromSelf, type Served } from './own-api.ts'

/** The service as the operation sees it. */
export interface ToolsPlace {
  readonly served: Served
  readonly baseUrl: () => string
  /** Aborted before this process stops to answer. */
  readonly stopping: AbortSignal
}

/** Returns the operation by which agents elsewhere use Berth. Its tools call this API with the caller's own bearer. */
export function mcpHandlers({ served, baseUrl, stopping }: ToolsPlace): Pick<Handlers, 'callTools'> {
  return {
    callTools: async ({ headers, body, principal, clientAddress, signal }) => {
      requireOwnOrigin(headers['origin'], baseUrl())
      const client = createClient({
        baseUrl: baseUrl(),
        credential: readCredential(['authorization', String(headers['authorization'])]),
        platform: { fetch: fetchFromSelf(served, clientAddress) },
      })
      const forwarded = Object.entries(headers).flatMap(([name, value]) =>
        name === 'content-type' || name.startsWith('mcp-') ? [[name, String(value)] as const] : [],
      )
      const request = new Request(new URL('/v1/mcp', baseUrl()), {
        method: 'POST',
        // The library refuses callers that do not name both, as generated clients do not.
        headers: { ...Object.fromEntries(forwarded), accept: 'application/json, text/event-stream' },
        body: JSON.stringify(body),
        signal,
      })
      const caller = { client, isPerson: principal.kind === 'person', stopping }
      const answer = await answerOverHttp(caller, request, body)
      return {
        status: answer.status,
        headers: Object.fromEntries(answer.headers),
        bytes: answer.body === null ? Readable.from([]) : Readable.fromWeb(answer.body as never),
      }
    },
  }
}

/**
 * Refuses requests of pages of other sites, as the transport asks of servers. Programs send no origin.
 * @throws ApiError 403 `cross_site_request_refused`
 */
function requireOwnOrigin(origin: unknown, baseUrl: string): void {
  if (origin !== undefined && origin !== new URL(baseUrl).origin) throw refusal('cross_site_request_refused')
}
