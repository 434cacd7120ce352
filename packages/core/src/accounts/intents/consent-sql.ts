import type { Permission, Role } from '@berth/contract'
import { type Queryable, queryOne } from '@berth/platform/storage/postgres/database.ts'

/** Who decides: a member of the organization that would install the app. */
export interface Decider {
  readonly personId: string
  readonly organizationId: string
  readonly role: Role
  readonly permissions: readonly Permission[]
}

/** Returns whether a member may decide what is installed in the organization. */
export const mayInstall = ({ role, permissions }: Pick<Decider, 'role' | 'permissions'>): boolean =>
  role === 'admin' || permissions.includes('organization.integrations.manage')

/** Reads a membership that stands. @returns null if it, its person or its organization has ended */
export async function findDecider(tx: Queryable, membershipId: string): Promise<Decider | null> {
  const { rows } = await tx.query<{
    person_id: string
    organization_id: string
    role: Role
    permissions: Permission[]
  }>({
    name: 'find-decider',
    text: `
      select m.person_id, m.organization_id, m.role, m.permissions
      from memberships m join people p on p.id = m.person_id join organizations o on o.id = m.organization_id
      where m.id = $1 and m.revoked_at is null and p.disabled_at is null and o.suspended_at is null`,
    values: [membershipId],
  })
  const [row] = rows
  if (row === undefined) return null
  const { person_id: personId, organization_id: organizationId, role, permissions } = row
  return { personId, organizationId, role, permissions }
}

/**
 * Installs an app in an organization with what was approved. An installation that is there keeps its id, and its grant
 * becomes what was approved now.
 * @returns its id
 */
export async function installApp(
  tx: Queryable,
  installation: {
    readonly id: string
    readonly organizationId: string
    readonly appSlug: string
    readonly capabilities: readonly string[]
    readonly membershipId: string
  },
  now: Date,
): Promise<string> {
  const { id, organizationId, appSlug, capabilities, membershipId } = installation
  const row = await queryOne<{ id: string }>(tx, {
    name: 'install-app',
    text: `
      insert into installations (id, organization_id, app_slug, capabilities, created_at, kind, created_by)
      values ($1, $2, $3, $4, $5, 'app', $6)
      on conflict (organization_id, app_slug) where kind = 'app' and revoked_at is null
        do update set capabilities = excluded.capabilities
      returning id`,
    values: [id, organizationId, appSlug, capabilities, now, membershipId],
  })
  return row.id
}

export async function insertSetupAuthority(
  tx: Queryable,
  authority: { readonly id: string; readonly installationId: string; readonly membershipId: string },
  now: Date,
): Promise<void> {
  await tx.query({
    name: 'insert-setup-authority',
    text: 'insert into setup_authorities (id, installation_id, membership_id, created_at) values ($1, $2, $3, $4)',
    values: [authority.id, authority.installationId, authority.membershipId, now],
  })
}
