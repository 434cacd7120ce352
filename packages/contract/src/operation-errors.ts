import type { ErrorCode } from './error.ts'
import type { Operation } from './operation.ts'

/** Codes that any operation may answer with: malformed, slow or too frequent requests, and faults of the service. */
export const commonCodes: readonly ErrorCode[] = [
  'malformed_request',
  'malformed_request_body',
  'method_not_allowed',
  'request_timeout',
  'request_entity_too_large',
  'uri_too_long',
  'unsupported_media_type',
  'request_header_fields_too_large',
  'cloud_rate_limit_exceeded',
  'cloud_auth_rate_limit_exceeded',
  'internal_error',
  'service_unavailable',
]

const ofPublic: readonly ErrorCode[] = ['representation_not_acceptable', 'service_unavailable']

const ofGuarded: readonly ErrorCode[] = [
  'invalid_request',
  'internal_error',
  'service_unavailable',
  'invalid_organization',
  'organization_header_not_allowed',
  'bearer_credential_required',
  'invalid_or_expired_credential',
  'cloud_access_denied',
  'insufficient_scope',
  'cloud_rate_limit_exceeded',
  'cloud_auth_rate_limit_exceeded',
  'identity_service_unavailable',
  'cloud_rate_limit_unavailable',
]

const ofPeople: readonly ErrorCode[] = ofGuarded.filter(code => code !== 'cloud_access_denied')

/** What the console's page may be answered with, at its own operations and at mirrors. */
export const browserCodes: readonly ErrorCode[] = [
  'sign_in_required',
  'cross_site_request_refused',
  'recent_sign_in_required',
  'organization_not_found',
]

const ofBrowsers: readonly ErrorCode[] = ofGuarded.filter(
  code => code !== 'cloud_access_denied' && code !== 'insufficient_scope',
)

const ofAssertions: readonly ErrorCode[] = [
  'invalid_request',
  'invalid_assertion',
  'cloud_auth_rate_limit_exceeded',
  'cloud_rate_limit_unavailable',
  'internal_error',
  'service_unavailable',
]

const ofSigned: readonly ErrorCode[] = [
  'invalid_request',
  'invalid_signature',
  'cloud_auth_rate_limit_exceeded',
  'cloud_rate_limit_unavailable',
  'internal_error',
  'service_unavailable',
]

const ofGateway: readonly ErrorCode[] = ofGuarded.filter(code => code !== 'cloud_access_denied')

const ofOctets: readonly ErrorCode[] = ['unsupported_media_type', 'request_entity_too_large', 'request_timeout']

const ofBodies: readonly ErrorCode[] = ['malformed_request_body', 'request_entity_too_large', 'unsupported_media_type']

/** Returns every code that an operation can answer with: the codes of its kind, then its own. */
export function errorCodesOf(row: Operation): readonly ErrorCode[] {
  if (row.access === 'public') return [...ofPublic, ...row.errors]
  const kinds = {
    bearer: ofGuarded,
    gateway: ofGateway,
    person: ofPeople,
    browser: ofBrowsers,
    assertion: ofAssertions,
    signed: ofSigned,
  }
  const codes = new Set<ErrorCode>(kinds[row.access])
  if (row.params !== undefined && row.inputError === undefined) codes.add('invalid_path_parameter')
  if (row.form !== undefined) codes.add('unsupported_media_type')
  else if (row.octets !== undefined) for (const code of ofOctets) codes.add(code)
  else if (row.method !== 'GET') for (const code of ofBodies) codes.add(code)
  if (row.access === 'bearer' && row.principal === 'app_installation') codes.add('installation_principal_required')
  if (row.path.startsWith('/cloud/')) for (const code of browserCodes) codes.add(code)
  for (const code of row.errors) codes.add(code)
  return [...codes]
}
