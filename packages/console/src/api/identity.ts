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
  /** The optional features of the service. */
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
  refetchOnWindowFocus: 'always',
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

/** True from the start of a sign-out until it fails: no request that is refused meanwhile may sign the person in again. */
let signingOut = false

/**
 * Ends the person's session at this browser.
 *
 * @returns the page to go to, which ends the session at the account service too
 * @throws BerthError if the service refuses
 */
export async function signOut(): Promise<{ readonly url: string }> {
  signingOut = true
  try {
    return await call<{ url: string }>('POST', 'auth/sign-out')
  } catch (error) {
    signingOut = false
    throw error
  }
}

/**
 * Leaves for the sign-in, which comes back to the same page. It stays while a sign-out is under way: the account service
 * still knows the person by then, and would sign them in again without a question.
 */
export function signIn(): Promise<never> {
  if (!signingOut) {
    const here = location.pathname + location.search
    location.assign(`/cloud/auth/sign-in?return_to=${encodeURIComponent(here)}`)
  }
  return new Promise(() => {})
}
