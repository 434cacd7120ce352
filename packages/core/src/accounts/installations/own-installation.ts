import { randomUUID } from 'node:crypto'
import { personCapabilities } from '@berth/contract'
import type { Clock } from '@berth/platform/kit/clock.ts'
import type { Queryable } from '@berth/platform/storage/postgres/database.ts'
import { cloudClient } from '../../identity/tokens/token-types.ts'

/**
 * Returns SQL that is true of installations that a caller may name, list or act as: all but the service's own. Every
 * statement that takes an installation's id from a request has it.
 * @param installation alias of a row of `installations`
 */
export const isAddressable = (installation: string): string => `${installation}.kind <> 'own'`

/** Returns the id of the service's own installation in an organization; null before its first use. */
export async function findOwnInstallation(db: Queryable, organizationId: string): Promise<string | null> {
  const { rows } = await db.query<{ id: string }>({
    name: 'find-own-installation',
    text: "select id from installations where organization_id = $1 and kind = 'own'",
    values: [organizationId],
  })
  return rows[0]?.id ?? null
}

/**
 * Returns the service's own installation in an organization, and makes it at its first use. It owns the Sessions that
 * people make on the organization's repositories. It has no keys, and no route lists, changes or revokes it.
 * @returns its id; `isNew` is true if this call made it
 */
export async function provideOwnInstallation(
  { db, clock }: { readonly db: Queryable; readonly clock: Clock },
  organizationId: string,
): Promise<{ readonly id: string; readonly isNew: boolean }> {
  const found = await findOwnInstallation(db, organizationId)
  if (found !== null) return { id: found, isNew: false }
  const { rows } = await db.query<{ id: string }>({
    name: 'insert-own-installation',
    text: `
      insert into installations (id, organization_id, app_slug, capabilities, created_at, kind)
      values ($1, $2, $3, $4, $5, 'own') on conflict (organization_id) where kind = 'own' do nothing returning id`,
    values: [randomUUID(), organizationId, cloudClient, personCapabilities, clock.now()],
  })
  const [made] = rows
  if (made !== undefined) return { id: made.id, isNew: true }
  const others = await findOwnInstallation(db, organizationId)
  if (others === null) throw new Error('an own installation was neither made nor found')
  return { id: others, isNew: false }
}
