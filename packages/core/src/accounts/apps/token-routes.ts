import { accessCapability, type Capability } from '@berth/contract'
import { ApiError } from '@berth/platform/kit/api-error.ts'
import { invalidField, refusal } from '@berth/platform/kit/refusal.ts'
import type { Context } from '../../context.ts'
import type { AccountHandlers } from '../../http/routing/handler.ts'
import { grantedCapabilities } from '../../identity/guard/granted-capabilities.ts'
import { type Audience, audiences } from '../../identity/tokens/token-types.ts'
import { appendAudit } from '../audit/append.ts'
import { APP_TOKEN_SECONDS, type Mint } from '../signing/mint.ts'
import type { AssertingApp, Assertions } from './assertion.ts'
import { findLiveInstallation } from './exchange-sql.ts'

/** What a grant must hold for a token of an audience to be of any use. */
const entrances: Readonly<Record<Audience, Capability>> = {
  'svc-cloud': accessCapability,
  'svc-ai': 'svc.ai.invoke',
}

/** The operations by which the backends of apps get tokens. */
export function tokenHandlers(
  { db, clock }: Pick<Context, 'db' | 'clock'>,
  { assertions, mint }: { readonly assertions: Assertions; readonly mint: Mint },
): Pick<AccountHandlers, 'exchangeInstallationToken' | 'exchangeEndUserToken'> {
  /** @throws ApiError 403 or 404 */
  const requireGrant = async (
    app: AssertingApp,
    installationId: string,
    capability: Capability,
    setupAuthorityId: string | null = null,
  ): Promise<void> => {
    const installation = await findLiveInstallation(db, app.slug, installationId, setupAuthorityId)
    if (installation === null) throw refusal('installation_not_found')
    if (setupAuthorityId !== null && !installation.setup) throw refusal('setup_authority_not_found')
    const held = grantedCapabilities(installation.capabilities, installation.cloud_access)
    if (!held.has(capability)) throw refusal('insufficient_scope', { requiredScope: capability })
  }

  /** Keeps refused exchanges in the audit log of the app's publisher. */
  const audited = async <T>(
    { slug, organizationId }: AssertingApp,
    request: { readonly installationId: string; readonly clientAddress: string },
    exchange: () => Promise<T>,
  ): Promise<T> => {
    try {
      return await exchange()
    } catch (error) {
      if (error instanceof ApiError) {
        const entry = {
          organizationId,
          actor: { kind: 'app', id: slug, name: null },
          action: 'token.exchanged',
          target: `installation ${request.installationId}`,
          address: request.clientAddress,
          outcome: 'refused',
          details: { error: error.code },
        } as const
        await appendAudit(db, entry, clock.now())
      }
      throw error
    }
  }

  return {
    exchangeInstallationToken: async ({ body, clientAddress }) => {
      const { assertion, installationId, resourceAudience, setupAuthorityId = null } = body
      const app = await assertions.verify(assertion)
      const token = await audited(app, { installationId, clientAddress }, async () => {
        const audience = audiences.find(known => known === resourceAudience)
        if (audience === undefined) throw invalidField(['resourceAudience'], 'is not a registered audience')
        await requireGrant(app, installationId, entrances[audience], setupAuthorityId)
        return await mint.installationToken(installationId, audience, setupAuthorityId)
      })
      return { status: 200, body: { success: true, token, expiresIn: APP_TOKEN_SECONDS } }
    },

    exchangeEndUserToken: async ({ body: { assertion, installationId, endUserId }, clientAddress }) => {
      const app = await assertions.verify(assertion)
      const token = await audited(app, { installationId, clientAddress }, async () => {
        await requireGrant(app, installationId, 'svc.ai.invoke')
        return await mint.endUserToken(installationId, endUserId)
      })
      return { status: 200, body: { success: true, token, expiresIn: APP_TOKEN_SECONDS } }
    },
  }
}
