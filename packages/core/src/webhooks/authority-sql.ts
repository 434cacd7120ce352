/**
 * The condition under which an installation `i` of the organization `o` receives webhooks now. A revoked installation
 * and a suspended organization receive none, and neither does a grant without product access or the right to read.
 */
export const receives = `
  i.revoked_at is null and o.suspended_at is null and o.cloud_access
  and i.capabilities @> array['svc.cloud.access', 'svc.cloud.sessions:read']`
