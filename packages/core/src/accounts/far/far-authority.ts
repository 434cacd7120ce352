import { type Capability, capabilities } from '@berth/contract'
import type { Authority, Principal, Verdict } from '../../identity/guard/principal.ts'
import type { AccountClient } from './account-client.ts'
import type { CopiedRows } from './copied-rows.ts'
import { internalPaths, isVerdict, mostAddress, type WireVerdict } from './wire.ts'

/** Judges at an account service with another database, live for each request. The buckets are over there as well. */
export class FarAuthority implements Authority {
  readonly #account: AccountClient
  readonly #copies: CopiedRows

  constructor(account: AccountClient, copies: CopiedRows) {
    this.#account = account
    this.#copies = copies
  }

  /** @throws ApiError 503 `identity_service_unavailable`; DatabaseUnavailable if the copies cannot be written */
  async judge({
    bearer,
    clientAddress,
    metered = true,
  }: {
    readonly bearer: string
    readonly clientAddress: string
    readonly metered?: boolean
  }): Promise<Verdict> {
    const address = clientAddress.slice(0, mostAddress)
    const verdict = await this.#account.ask(internalPaths.judge, isVerdict, { bearer, address, metered })
    if (verdict.kind !== 'granted') return verdict
    const { principal } = verdict
    await this.#copies.provide(verdict.snapshot, principal.kind === 'person' ? principal.signInId : null)
    return { kind: 'granted', principal: principalOf(verdict), metering: verdict.metering }
  }
}

function principalOf({ principal, snapshot }: Extract<WireVerdict, { kind: 'granted' }>): Principal {
  const { id, organizationId, expiresAt } = principal
  const shared = {
    id,
    organizationId,
    capabilities: knownCapabilities(principal.capabilities),
    expiresAt: expiresAt === null ? null : new Date(expiresAt),
  }
  if (principal.kind === 'app_installation') return { kind: 'app_installation', ...shared }
  const { membershipId, signInId, role, permissions } = principal
  const { membership, organization } = snapshot
  return {
    kind: 'person',
    ...shared,
    membershipId,
    signInId,
    role,
    permissions: new Set(permissions),
    ...(membership !== null && {
      profile: { name: membership.person_name, email: membership.person_email, organization: organization.name },
    }),
  }
}

/** An account service of another release may name capabilities that this one does not know. */
export const knownCapabilities = (named: readonly string[]): ReadonlySet<Capability> =>
  new Set(capabilities.filter(capability => named.includes(capability)))
