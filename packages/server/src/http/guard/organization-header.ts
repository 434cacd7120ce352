import { refusal } from '../../kit/refusal.ts'
import { isUuid } from '../../kit/uuid.ts'
import { rawHeaderValues } from '../request/raw-header.ts'

/**
 * A bearer names its organization by itself, so the header is refused beside it; a malformed or repeated one first
 * (interface part 5, 2).
 * @throws ApiError 400
 */
export function refuseOrganizationHeader(rawHeaders: readonly string[]): void {
  const [value, ...others] = rawHeaderValues(rawHeaders, 'x-svc-organization')
  if (value === undefined) return
  throw refusal(others.length > 0 || !isUuid(value) ? 'invalid_organization' : 'organization_header_not_allowed')
}
