import { type AccountOperationId, type PersonOperationId, personOperationIds, personOperationOf } from '@berth/contract'
import type { AccountClient } from '@berth/core/accounts/far/account-client.ts'
import type { AccountPersonHandlers, Reply } from '@berth/core/http/routing/handler.ts'
import type { BrowserSession } from '@berth/core/identity/guard/browser-authority.ts'
import { ApiError } from '@berth/platform/kit/api-error.ts'
import { refusal } from '@berth/platform/kit/refusal.ts'
import type { BrowserTokens } from './browser-tokens.ts'

/** An invitation hashes nothing, but a webhook's address is looked up. */
const PASS_MS = 10_000

/** A request to any operation for people; the contract has checked it. */
interface AnyRequest {
  readonly params: Readonly<Record<string, string>>
  readonly query: Readonly<Record<string, unknown>>
  readonly body: unknown
  readonly browser: BrowserSession | null
  readonly clientAddress: string
}

/** Dependencies of passing requests on. */
export interface Forwarding {
  readonly account: Pick<AccountClient, 'pass'>
  readonly tokens: Pick<BrowserTokens, 'of'>
}

/**
 * Returns the account service's operations for people as a console serves them whose account service has another
 * database: each request goes on to there, with the token of the browser's session. Path and method come from the route
 * table, never from the caller.
 */
export function forwardedHandlers(forwarding: Forwarding): AccountPersonHandlers {
  const ids = personOperationIds.filter(
    (id): id is PersonOperationId & AccountOperationId => 'origin' in personOperationOf(id),
  )
  const handlers = ids.map(id => [id, (request: AnyRequest) => forward(forwarding, id, request)])
  // Every operation is passed on alike, so nothing but the table says which types a request has.
  return Object.fromEntries(handlers) as AccountPersonHandlers
}

async function forward(
  { account, tokens }: Forwarding,
  id: PersonOperationId,
  { params, query, body, browser, clientAddress }: AnyRequest,
): Promise<Reply> {
  // A person with a token of their own calls the account service itself.
  if (browser === null) throw refusal('unknown_endpoint')
  const bearer = await tokens.of(browser.id)
  if (bearer === null) throw refusal('sign_in_required')
  const { method, path } = personOperationOf(id)
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(params[name] ?? ''))
  const search = searchOf(query ?? {})
  const answer = await account.pass({
    method,
    path: search === '' ? filled : `${filled}?${search}`,
    bearer,
    body,
    clientAddress,
    timeoutMs: PASS_MS,
  })
  if (answer.status === 204) return { status: 204 }
  if (answer.status < 300) return { status: answer.status, json: answer.text }
  throw refusalOf(answer)
}

function searchOf(query: Readonly<Record<string, unknown>>): string {
  const pairs = Object.entries(query).flatMap(([name, value]) =>
    [value].flat().flatMap(each => (each === undefined ? [] : [[name, String(each)] as [string, string]])),
  )
  return new URLSearchParams(pairs).toString()
}

function refusalOf({
  status,
  text,
  retryAfter,
}: {
  readonly status: number
  readonly text: string
  readonly retryAfter: string | null
}): ApiError {
  if (status === 401) return refusal('sign_in_required')
  const { error, ...fields } = parsed(text)
  if (typeof error !== 'string') return refusal('identity_service_unavailable')
  return new ApiError(status, error, { fields, ...(retryAfter !== null && { headers: { 'retry-after': retryAfter } }) })
}

function parsed(text: string): Record<string, unknown> {
  try {
    return Object(JSON.parse(text))
  } catch {
    return {}
  }
}
