import { ApiError } from '../api-error.ts'
import { rawHeaderValues } from './raw-header.ts'

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
 * The bearer of a request (interface part 5). The scheme is read in any case; two `Authorization` headers name no one
 * credential, and cookies are never looked at.
 * @throws ApiError 401
 */
export function readBearer(rawHeaders: readonly string[]): string {
  const [header, ...others] = rawHeaderValues(rawHeaders, 'authorization')
  if (header === undefined) throw bearerRequired()
  if (others.length > 0) throw invalidCredential()
  const [scheme = '', ...rest] = header.trim().split(/[ \t]+/)
  if (scheme.toLowerCase() !== 'bearer') throw bearerRequired()
  const credential = rest.join(' ')
  if (!token.test(credential)) throw invalidCredential()
  return credential
}
