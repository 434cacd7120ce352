import { BerthError, createClient, defaultPlatform } from '@berth/client'
import { currentOrganization } from './organization.ts'
import { observeServerTime } from './server-clock.ts'

/** Sends a request as this browser: the cookie says who, the header says for which organization. */
export async function browserFetch(input: RequestInfo | URL, init: RequestInit = {}): Promise<Response> {
  const headers = new Headers(init.headers)
  headers.delete('authorization')
  const organization = currentOrganization()
  if (organization !== null) headers.set('X-Svc-Organization', organization)
  const response = await fetch(input, { ...init, headers, credentials: 'same-origin' })
  observeServerTime(response.headers.get('date'))
  return response
}

/** The client of this page, over the mirrors of `/v1` below `/cloud`. */
export const berth = createClient({
  baseUrl: `${location.origin}/cloud`,
  // Every request passes `browserFetch`, which drops it: the cookie is the credential.
  credential: 'cookie',
  platform: { ...defaultPlatform, fetch: browserFetch },
  retry: { attempts: 2 },
})

/**
 * Calls an operation that the client package has no function for, by its path below `/cloud`.
 *
 * @throws BerthError if the service refuses
 */
export async function call<T>(method: string, path: string, body?: unknown): Promise<T> {
  const response = await browserFetch(`/cloud/${path}`, {
    method,
    cache: 'no-store',
    headers: { accept: 'application/json', ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  const text = await response.text()
  const value: unknown = text === '' ? null : JSON.parse(text)
  if (response.ok) return value as T
  const { error, ...fields } = Object(value) as Record<string, unknown>
  throw new BerthError({ status: response.status, code: typeof error === 'string' ? error : null, fields })
}
