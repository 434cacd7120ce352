import type { SessionKey } from '@berth/platform/kit/session-key.ts'
import type { Queryable } from '@berth/platform/storage/postgres/database.ts'

/** An account of a Git host, with the repositories of it that a Session's owner was granted. */
export interface SessionAccount {
  readonly id: string
  /** Id of a `GitHost`. */
  readonly host: string
  readonly account: string
  readonly login: string
  /** All repositories of the account are granted, those of `repositories` and others. */
  readonly whole: boolean
  readonly repositories: readonly { readonly id: string; readonly fullName: string }[]
}

/**
 * The accounts that a Session may use, by their logins. `authority`: the installation that stands for its owner was
 * revoked, or may not read repositories.
 */
export type SessionAccounts =
  | { readonly kind: 'accounts'; readonly accounts: readonly SessionAccount[] }
  | { readonly kind: 'authority' }

type AccountRow = { readonly [Member in keyof SessionAccount]: SessionAccount[Member] | null } & {
  readonly may: boolean
}

/**
 * Returns the accounts that are connected for a Session's owner now, with at least one granted repository each. The
 * owner is an installation; for a person it is the service's own in their organization, which may always read.
 * A connection that asks people for access of their own is left out: what a Session is given reaches all repositories of
 * it, may push, and is used by whoever submits a Turn.
 */
export async function findSessionAccounts(db: Queryable, key: SessionKey): Promise<SessionAccounts> {
  const { rows } = await db.query<AccountRow>({
    name: 'find-session-accounts',
    text: `
      select c.id, c.host, c.account, c.account_login as login, c.whole,
        coalesce(o.suspended_at is null and o.cloud_access and i.revoked_at is null
          and (i.kind = 'own' or i.capabilities @> '{svc.cloud.access,svc.cloud.repositories:read}'), true) as may,
        (select coalesce(jsonb_agg(jsonb_build_object('id', g.repository_id, 'fullName', g.full_name)
            order by g.full_name, g.id), '[]')
          from repository_grants g
          where g.connection_id = c.id and g.revoked_at is null and g.replaced_by is null) as repositories
      from sessions s
      join organizations o on o.id = s.organization_id
      left join installations i on i.organization_id = s.organization_id
        and case s.owner_kind when 'app_installation' then i.id = s.owner_id else i.kind = 'own' end
      left join host_connections c
        on c.installation_id = i.id and c.organization_id = s.organization_id and c.revoked_at is null
        and not c.personal
      where s.organization_id = $1 and s.id = $2
      order by lower(c.account_login), c.id`,
    values: [key.organizationId, key.sessionId],
  })
  if (rows.some(({ may }) => !may)) return { kind: 'authority' }
  return { kind: 'accounts', accounts: rows.flatMap(toAccount) }
}

function toAccount({ id, host, account, login, whole, repositories }: AccountRow): SessionAccount[] {
  if (id === null || host === null || account === null || login === null) return []
  const granted = repositories ?? []
  return whole === true || granted.length > 0
    ? [{ id, host, account, login, whole: whole === true, repositories: granted }]
    : []
}
