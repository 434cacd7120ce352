import { refusal } from '@berth/platform/kit/refusal.ts'
import { isUuid } from '@berth/platform/kit/uuid.ts'
import type { Metering } from '../../identity/guard/principal.ts'
import { rawHeaderValues } from '../request/raw-header.ts'
import { rateLimitHeaders } from './rate-limit-headers.ts'

/**
 * Refuses the organization header, because a bearer already names its organization. A malformed or repeated header is
 * refused with its own code.
 * @param metering the bucket that the request took a token from; null if it could not be read
 * @throws ApiError 400
 */
export function refuseOrganizationHeader(rawHeaders: readonly string[], metering: Metering | null): void {
  const [value, ...others] = rawHeaderValues(rawHeaders, 'x-svc-organization')
  if (value === undefined) return
  const code = others.length > 0 || !isUuid(value) ? 'invalid_organization' : 'organization_header_not_allowed'
  throw refusal(code, {}, undefined, metering === null ? {} : rateLimitHeaders(metering))
}
