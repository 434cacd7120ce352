import { invalidField, refusal } from '@berth/platform/kit/refusal.ts'
import type { Context } from '../../context.ts'
import type { AccountHandlers } from '../../http/routing/handler.ts'
import { appendAudit } from '../audit/append.ts'
import { personEntry } from '../audit/person-entry.ts'
import { revokeInstallation } from '../installations/revoke.ts'
import { listAppKeys, revokeAppKey } from './app-key-sql.ts'
import { hasApp, insertApp, listApps, listInstallationsOf, markAppDeleted, toApp, updateApp } from './app-sql.ts'
import { readPublicKey } from './public-key.ts'
import { isRedirectUrl } from './redirect-url.ts'
import { registerKey } from './register-key.ts'

/**
 * The operations on apps and their keys.
 * @param development allows redirects to `http` on loopback addresses
 */
export function appHandlers(
  { db, clock }: Pick<Context, 'db' | 'clock'>,
  { development }: { readonly development: boolean },
): Pick<
  AccountHandlers,
  'createApp' | 'listApps' | 'updateApp' | 'deleteApp' | 'registerAppKey' | 'listAppKeys' | 'revokeAppKey'
> {
  const requireRedirects = (urls: readonly string[]) => {
    for (const [index, url] of urls.entries()) {
      if (!isRedirectUrl(url, development))
        throw invalidField(['redirectUrls', index], 'must be an https URL without userinfo and fragment')
    }
  }
  return {
    createApp: async ({ principal, body, clientAddress }) => {
      const { slug, name, redirectUrls = [] } = body
      if (slug.startsWith('svc-')) throw invalidField(['slug'], 'slugs that begin with svc- are reserved')
      requireRedirects(redirectUrls)
      const app = { slug, name, redirectUrls, organizationId: principal.organizationId }
      const made = await db.transaction(async tx => {
        const inserted = await insertApp(tx, app, clock.now())
        if (inserted === null) throw refusal('app_slug_taken')
        await appendAudit(
          tx,
          personEntry(principal, clientAddress, 'app.created', { target: `app ${slug}` }),
          clock.now(),
        )
        return inserted
      })
      return { status: 201, body: { success: true, app: toApp(made) } }
    },

    listApps: async ({ principal }) => ({
      status: 200,
      body: { success: true, apps: (await listApps(db, principal.organizationId)).map(toApp) },
    }),

    updateApp: async ({ principal, params: { appSlug: slug }, body: { name, redirectUrls }, clientAddress }) => {
      requireRedirects(redirectUrls ?? [])
      const changed = await db.transaction(async tx => {
        const row = await updateApp(tx, principal.organizationId, slug, { name, redirectUrls })
        if (row === null) throw refusal('app_not_found')
        const audited = { target: `app ${slug}`, details: { name: row.name, redirectUrls: row.redirect_urls } }
        await appendAudit(tx, personEntry(principal, clientAddress, 'app.changed', audited), clock.now())
        return row
      })
      return { status: 200, body: { success: true, app: toApp(changed) } }
    },

    deleteApp: async ({ principal, params: { appSlug: slug }, clientAddress }) => {
      await db.transaction(async tx => {
        const now = clock.now()
        if (!(await hasApp(tx, principal.organizationId, slug, { lock: true }))) throw refusal('app_not_found')
        await markAppDeleted(tx, slug, now)
        for (const { id, organization_id: organizationId } of await listInstallationsOf(tx, slug)) {
          await revokeInstallation(tx, organizationId, id, now)
          const audited = { target: `installation ${id}`, details: { app: slug } }
          const entry = personEntry(principal, clientAddress, 'installation.revoked', audited)
          await appendAudit(tx, { ...entry, organizationId }, now)
        }
        await appendAudit(tx, personEntry(principal, clientAddress, 'app.deleted', { target: `app ${slug}` }), now)
      })
      return { status: 204 }
    },

    registerAppKey: async ({ principal, params: { appSlug: slug }, body, clientAddress }) => {
      const { organizationId, membershipId } = principal
      const key = await readPublicKey(body.publicKeyPem)
      if (key === null) {
        // The app before its key, so that a foreign app answers as one that is not there.
        if (!(await hasApp(db, organizationId, slug))) throw refusal('app_not_found')
        throw invalidField(['publicKeyPem'], 'must be the SPKI PEM of an Ed25519 public key')
      }
      const { kid } = key
      const isNew = await db.transaction(async tx => {
        const added = await registerKey(tx, { ...key, organizationId, membershipId, slug }, clock.now())
        const entry = personEntry(principal, clientAddress, 'app.key_registered', {
          target: `app ${slug}`,
          details: { kid },
        })
        if (added) await appendAudit(tx, entry, clock.now())
        return added
      })
      return { status: isNew ? 201 : 200, body: { success: true, kid } }
    },

    listAppKeys: async ({ principal, params: { appSlug: slug } }) => {
      if (!(await hasApp(db, principal.organizationId, slug))) throw refusal('app_not_found')
      const keys = (await listAppKeys(db, slug)).map(key => ({
        kid: key.kid,
        createdAt: key.created_at.toISOString(),
        ...(key.revoked_at !== null && { revokedAt: key.revoked_at.toISOString() }),
      }))
      return { status: 200, body: { success: true, keys } }
    },

    revokeAppKey: async ({ principal, params: { appSlug: slug, kid }, clientAddress }) => {
      await db.transaction(async tx => {
        if (!(await hasApp(tx, principal.organizationId, slug))) throw refusal('app_not_found')
        if (!(await revokeAppKey(tx, slug, kid, clock.now()))) throw refusal('app_key_not_found')
        const about = { target: `app ${slug}`, details: { kid } }
        await appendAudit(tx, personEntry(principal, clientAddress, 'app.key_revoked', about), clock.now())
      })
      return { status: 204 }
    },
  }
}
