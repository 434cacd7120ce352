import { randomUUID } from 'node:crypto'
import type { InstallationIntent } from '@berth/contract'
import { invalidField, refusal } from '@berth/platform/kit/refusal.ts'
import { credentialDigest } from '@berth/platform/storage/master-key.ts'
import type { Context } from '../../context.ts'
import type { AccountHandlers } from '../../http/routing/handler.ts'
import type { Assertions } from '../apps/assertion.ts'
import { appendAudit } from '../audit/append.ts'
import {
  countPending,
  findIntent,
  forgetIntents,
  type IntentRow,
  insertIntent,
  lockRedirectUrls,
} from './intent-sql.ts'

const PENDING_MS = 15 * 60_000
const MOST_PENDING = 100
/** Ended intents are kept this long, so that an app that asks late learns that they have ended. */
const KEPT_MS = 24 * 60 * 60_000

/** The operations by which an app asks to be installed. */
export function intentHandlers(
  { db, clock }: Pick<Context, 'db' | 'clock'>,
  { assertions, authUrl }: { readonly assertions: Assertions; readonly authUrl: () => string },
): Pick<AccountHandlers, 'createInstallationIntent' | 'readInstallationIntent'> {
  const answer = (id: string, row: Omit<IntentRow, 'app_slug'>): { success: true; intent: InstallationIntent } => ({
    success: true,
    intent: {
      id,
      status: row.status,
      expiresAt: row.expires_at.toISOString(),
      authorizeUrl: `${authUrl().replace(/\/$/, '')}/install/${id}`,
      ...(row.status === 'authorized' && row.installation_id !== null && { installationId: row.installation_id }),
      ...(row.status === 'authorized' &&
        row.setup_authority_id !== null && { setupAuthorityId: row.setup_authority_id }),
    },
  })

  return {
    createInstallationIntent: async ({ body, clientAddress }) => {
      const { slug, organizationId } = await assertions.verify(body.assertion)
      const id = randomUUID()
      const now = clock.now()
      const expiresAt = new Date(now.getTime() + PENDING_MS)
      const { capabilities, redirectUrl = null, state = null } = body
      await db.transaction(async tx => {
        const allowed = await lockRedirectUrls(tx, slug)
        if (allowed === null) throw refusal('invalid_assertion')
        if (redirectUrl !== null && !allowed.includes(redirectUrl))
          throw invalidField(['redirectUrl'], "must be one of the app's redirectUrls")
        await forgetIntents(tx, slug, new Date(now.getTime() - KEPT_MS))
        const { count, firstEndsAt } = await countPending(tx, slug, now)
        if (count >= MOST_PENDING) {
          const waitMs = (firstEndsAt?.getTime() ?? 0) - now.getTime()
          const retryAfterSeconds = Math.max(1, Math.ceil(waitMs / 1000))
          throw refusal('cloud_rate_limit_exceeded', { retryAfterSeconds }, retryAfterSeconds)
        }
        const intent = { digest: credentialDigest(id), slug, capabilities, redirectUrl, state, expiresAt }
        await insertIntent(tx, intent, now)
        const actor = { kind: 'app', id: slug, name: null } as const
        const details = { capabilities }
        const entry = { organizationId, actor, action: 'intent.created', target: `app ${slug}`, details } as const
        await appendAudit(tx, { ...entry, address: clientAddress, outcome: 'done' }, now)
      })
      const made = {
        status: 'pending',
        expires_at: expiresAt,
        installation_id: null,
        setup_authority_id: null,
      } as const
      return { status: 201, body: answer(id, made) }
    },

    readInstallationIntent: async ({ params: { intentId }, body }) => {
      const { slug } = await assertions.verify(body.assertion)
      const found = await findIntent(db, credentialDigest(intentId), slug, clock.now())
      if (found === null) throw refusal('installation_intent_not_found')
      return { status: 200, body: answer(intentId, found) }
    },
  }
}
