import { type Capability, capabilities, personCapabilities } from '@berth/contract'

const cloud = 'svc.cloud.'

/**
 * The capabilities of whoever stands behind a bearer: an installation's are its grant's, a person's come with being a
 * member. An organization without product access leaves nobody any of the product's.
 * @param granted null for a person
 */
export function grantedCapabilities(granted: readonly string[] | null, cloudAccess: boolean): ReadonlySet<Capability> {
  const held: readonly Capability[] =
    granted === null ? personCapabilities : capabilities.filter(known => granted.includes(known))
  return new Set(cloudAccess ? held : held.filter(capability => !capability.startsWith(cloud)))
}
