import { ApiError } from '../../kit/api-error.ts'
import { rawHeaderValues } from '../request/raw-header.ts'

/** RFC 6750's b64token. */
const token = /^[A-Za-z0-9\-._~+/]+=*$/

/** 401 for a request that names no bearer (interface part 5, 1). */
export const bearerRequired = () =>
  new ApiError(401, 'bearer_credential_required', { headers: { 'www-authenticate': 'Bearer' } })

/** 401 for a bearer that is none of ours (interface part 5, 3). */
export const invalidCredential = () =>
  new ApiError(401, 'invalid_or_expired_credential', {
    headers: { 'www-authenticate': 'Bearer error="invalid_token"' },
  })

/**
 * The credential of a request: its bearer (interface part 5), or what the header holds that a dialect's clients name
 * their key in. The scheme is read in any case; two headers that do not agree name no one credential, and cookies are
 * never looked at.
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

/** @throws ApiError 401 */
function readBearer(header: string): string {
  const [scheme = '', ...rest] = header.trim().split(/[ \t]+/)
  if (scheme.toLowerCase() !== 'bearer') throw bearerRequired()
  return rest.join(' ')
}
