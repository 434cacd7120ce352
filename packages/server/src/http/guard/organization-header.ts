import { refusal } from '../../kit/refusal.ts'
import { isUuid } from '../../kit/uuid.ts'
import { rawHeaderValues } from '../request/raw-header.ts'

/**
 * Refuses the organization header, because a bearer already names its organization. A malformed or repeated header is
 * refused with its own code.
 * @throws ApiError 400
 */
export function refuseOrganizationHeader(rawHeaders: readonly string[]): void {
  const [value, ...others] = rawHeaderValues(rawHeaders, 'x-svc-organization')
  if (value === undefined) return
  throw refusal(others.length > 0 || !isUuid(value) ? 'invalid_organization' : 'organization_header_not_allowed')
}
