import { ApiError } from '@berth/platform/kit/api-error.ts'
import { rawHeaderValues } from '../request/raw-header.ts'

/** The b64token of RFC 6750. */
const token = /^[A-Za-z0-9\-._~+/]+=*$/

/** Returns the 401 for a request without a bearer. */
export const bearerRequired = () =>
  new ApiError(401, 'bearer_credential_required', { headers: { 'www-authenticate': 'Bearer' } })

/** Returns the 401 for an unknown or expired bearer. */
export const invalidCredential = () =>
  new ApiError(401, 'invalid_or_expired_credential', {
    headers: { 'www-authenticate': 'Bearer error="invalid_token"' },
  })

/**
 * Returns the credential of a request: its bearer, or the value of the key header that a dialect's clients use. The
 * scheme is case-insensitive. Two headers that disagree are invalid. Cookies are never read.
 * @throws ApiError 401
 */
export function readCredential(rawHeaders: readonly string[], keyHeader: string | null = null): string {
  const headers = rawHeaderValues(rawHeaders, 'authorization')
  if (headers.length > 1) throw invalidCredential()
  const keys = keyHeader === null ? [] : rawHeaderValues(rawHeaders, keyHeader).map(key => key.trim())
  const [credential, ...others] = [...headers.map(readBearer), ...keys]
  if (credential === undefined) throw bearerRequired()
  if (others.some(other => other !== credential) || !token.test(credential)) throw invalidCredential()
  return credential
}

/**
 * Returns the token of an `Authorization` header.
 * @throws ApiError 401
 */
function readBearer(header: string): string {
  const [scheme = '', ...rest] = header.trim().split(/[ \t]+/)
  if (scheme.toLowerCase() !== 'bearer') throw bearerRequired()
  return rest.join(' ')
}
