import { BerthError, createClient, defaultPlatform } from '@berth/client'
import { currentOrganization } from './organization.ts'
import { observeServerTime } from './server-clock.ts'

/** Sends a request as this browser: the cookie says who, the header says for which organization. */
export async function browserFetch(input: RequestInfo | URL, init: RequestInit = {}): Promise<Response> {
  const headers = new Headers(init.headers)
  headers.delete('authorization')
  const organization = currentOrganization()
  if (organization !== null) headers.set('X-Svc-Organization', organization)
  // A DELETE that a closing page sends still goes out.
  const keepalive = init.method === 'DELETE'
  const response = await fetch(input, { ...init, headers, credentials: 'same-origin', keepalive })
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
export async function call<T>(method: string, path: string, body?: unknown, signal?: AbortSignal): Promise<T> {
  const response = await browserFetch(`/cloud/${path}`, {
    method,
    cache: 'no-store',
    ...(signal === undefined ? {} : { signal }),
    headers: { accept: 'application/json', ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    ...(signal === undefined ? {} : { signal }),
  })
  if (!response.ok) throw await toBerthError(response)
  const text = await response.text()
  return (text === '' ? null : JSON.parse(text)) as T
}

/** Reads a refusal. A proxy in between may answer without JSON. */
export async function toBerthError(response: Response): Promise<BerthError> {
  const text = await response.text().catch(() => '')
  let value: unknown = null
  try {
    value = JSON.parse(text)
  } catch {
    // The status says enough.
  }
  const { error, ...fields } = Object(value) as Record<string, unknown>
  return new BerthError({ status: response.status, code: typeof error === 'string' ? error : null, fields })
}
