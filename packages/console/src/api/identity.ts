import { BerthError } from '@berth/client'
import type { ConsoleFeatures } from '@berth/contract'
import { queryOptions } from '@tanstack/react-query'
import { call } from './client.ts'
import { settleOrganization } from './organization.ts'

/** One of the person's memberships. */
export interface Membership {
  readonly id: string
  readonly organization: { readonly id: string; readonly name: string }
  readonly role: string
  readonly capabilities: readonly string[]
}

/** Who is signed in at this browser, in the organization that this tab shows. */
export interface Viewer {
  readonly user: { readonly id: string; readonly name: string; readonly email: string }
  readonly memberships: readonly Membership[]
  readonly membership: Membership
  /** What the service offers beside its core. */
  readonly features: ConsoleFeatures
}

interface ConsoleIdentity {
  readonly features: ConsoleFeatures
  readonly user: Viewer['user']
  readonly memberships: readonly Membership[]
  readonly membershipId: string | null
}

/** The person is signed in, and a member of no organization any more. */
export class NoMembership extends Error {}

/** Who is signed in. @throws BerthError 401 if nobody is, NoMembership if the person belongs to no organization */
export const viewerQuery = queryOptions({
  queryKey: ['viewer'],
  staleTime: Number.POSITIVE_INFINITY,
  queryFn: async (): Promise<Viewer> => {
    const { user, memberships, membershipId, features } = await call<ConsoleIdentity>('GET', 'auth/session')
    const preferred = memberships.find(({ id }) => id === membershipId)?.organization.id ?? null
    const organizationId = settleOrganization(
      memberships.map(({ organization }) => organization.id),
      preferred,
    )
    const membership = memberships.find(({ organization }) => organization.id === organizationId)
    if (membership === undefined) throw new NoMembership()
    return { user, memberships, membership, features }
  },
})

/** Returns true if the service wants a sign-in before it answers. */
export function needsSignIn(error: unknown): boolean {
  return error instanceof BerthError && error.status === 401
}

/** Returns true if the person is no member of the organization any more that this tab shows. */
export function isOutside(error: unknown): boolean {
  return error instanceof BerthError && error.code === 'organization_not_found'
}

/** Leaves for the sign-in, which comes back to the same page. */
export function signIn(): Promise<never> {
  const here = location.pathname + location.search
  location.assign(`/cloud/auth/sign-in?return_to=${encodeURIComponent(here)}`)
  return new Promise(() => {})
}
