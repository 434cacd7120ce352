import { ApiError } from '@berth/platform/kit/api-error.ts'
import { refusal } from '@berth/platform/kit/refusal.ts'
import { isUuid } from '@berth/platform/kit/uuid.ts'
import type { BrowserAuthority, BrowserSession, BrowserVerdict } from '../../identity/guard/browser-authority.ts'
import { readCookie } from '../../identity/guard/console-cookie.ts'
import { type Metering, MeteringFault } from '../../identity/guard/principal.ts'
import { rawHeaderValues } from '../request/raw-header.ts'
import { type Admission, type GuardedRequest, refuseEmptyBucket } from './guard.ts'
import { rateLimitHeaders } from './rate-limit-headers.ts'

/** How requests of the console's page are judged. */
export interface BrowserDoor {
  readonly authority: BrowserAuthority
  /** Name of the cookie that holds a session. */
  readonly cookieName: () => string
  /** Origin of the page. */
  readonly origin: () => string
}

/** A browser that the guard admitted, with the state of the bucket that its request took a token from. */
export interface BrowserAdmission {
  readonly session: BrowserSession
  readonly metering: Metering
  /** Its person as a member. Null if the request names no organization, as only those about the sign-in itself do. */
  readonly member: Admission | null
}

/**
 * Returns whether a request without a bearer is judged as a browser's: `/cloud` alone reads cookies, and a request with
 * `Authorization` is judged by that alone.
 */
export const isBrowsers = (path: string, rawHeaders: readonly string[]): boolean =>
  path.startsWith('/cloud/') && rawHeaderValues(rawHeaders, 'authorization').length === 0

/**
 * Admits a request of the console's page: its cookie, that the page itself sent it, the organization, and the buckets.
 * The sender is judged before the cookie is looked up, so no other site learns whether somebody is signed in.
 *
 * @param path decides whether an organization must be named
 * @throws ApiError 400, 401, 403, 404, 429 or 503
 */
export async function admitBrowser(
  request: GuardedRequest,
  path: string,
  { authority, cookieName, origin }: BrowserDoor,
): Promise<BrowserAdmission> {
  const { rawHeaders, clientAddress } = request
  const cookie = readCookie(rawHeaderValues(rawHeaders, 'cookie').join('; '), cookieName())
  if (cookie === null) throw signInRequired()
  requireOwnPage(rawHeaders, origin())
  const organizationId = path.startsWith('/cloud/auth/') ? null : organizationOf(rawHeaders)
  const verdict = await judge(authority, { cookie, organizationId, clientAddress })
  switch (verdict.kind) {
    case 'invalid':
      throw signInRequired()
    case 'limited':
      throw refuseEmptyBucket(verdict.metering, verdict.retryAfterSeconds)
    case 'stranger':
      throw refusal('organization_not_found', {}, undefined, rateLimitHeaders(verdict.metering))
    case 'granted': {
      const { session, principal, metering } = verdict
      const judgeAgain = async () => {
        const again = await authority.judge({ cookie, organizationId, clientAddress, metered: false })
        return again.kind === 'granted' ? again.principal : null
      }
      return { session, metering, member: principal === null ? null : { principal, metering, judgeAgain } }
    }
  }
}

const signInRequired = () => refusal('sign_in_required', {}, undefined, { 'www-authenticate': 'Bearer' })

async function judge(
  authority: BrowserAuthority,
  request: Parameters<BrowserAuthority['judge']>[0],
): Promise<BrowserVerdict> {
  try {
    return await authority.judge(request)
  } catch (error) {
    if (error instanceof MeteringFault) throw refusal('cloud_rate_limit_unavailable')
    if (error instanceof ApiError) throw error
    throw new ApiError(503, 'service_unavailable', { headers: { 'retry-after': '2' }, cause: error })
  }
}

/**
 * Refuses what another page sent. The strict cookie alone would not do: cookies and sites ignore ports, so a page on
 * another port of the same host is of the same site and sends it.
 * @throws ApiError 403 `cross_site_request_refused`
 */
function requireOwnPage(rawHeaders: readonly string[], own: string): void {
  const sites = rawHeaderValues(rawHeaders, 'sec-fetch-site')
  const origins = rawHeaderValues(rawHeaders, 'origin')
  const isOwn =
    sites.length === 0
      ? origins.length === 1 && origins[0] === own
      : sites.length === 1 && sites[0] === 'same-origin' && origins.every(origin => origin === own)
  if (!isOwn) throw refusal('cross_site_request_refused')
}

/** @throws ApiError 400 `invalid_organization` if the header is missing, malformed or repeated */
function organizationOf(rawHeaders: readonly string[]): string {
  const [value = '', ...others] = rawHeaderValues(rawHeaders, 'x-svc-organization')
  if (others.length > 0 || !isUuid(value)) throw refusal('invalid_organization')
  return value.toLowerCase()
}
