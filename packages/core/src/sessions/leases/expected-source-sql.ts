import type { CreateSession } from '@berth/contract'
import { type Queryable, queryRows } from '@berth/platform/storage/postgres/database.ts'

/** The source of Sessions that are likely to begin soon. */
export interface ExpectedSource {
  readonly organizationId: string
  readonly installationId: string
  readonly source: Pick<NonNullable<CreateSession['source']>, 'grantId' | 'baseBranch'>
}

/** Each costs a request to its Git host. */
const MOST = 8

/**
 * Returns the branches that triggers name whose schedules fire soon, on `triggers_due`; after a push also those on which
 * the newest live leases of a host began that show a kept checkout, on `leases_of_host`.
 */
export async function listExpectedSources(
  db: Queryable,
  host: string,
  { now, until, withPushed }: { readonly now: Date; readonly until: Date; readonly withPushed: boolean },
): Promise<readonly ExpectedSource[]> {
  return await queryRows<ExpectedSource>(db, {
    name: 'list-expected-sources',
    text: `
      select "organizationId", "installationId", source from (
        select organization_id as "organizationId", installation_id as "installationId", now() as at,
          jsonb_build_object('grantId', session -> 'source' -> 'grantId', 'baseBranch', session -> 'source' -> 'baseBranch') as source
        from triggers where due_at between $2 and $3 and session ? 'source'
        union all
        select s.organization_id, s.owner_id, l.created_at,
          jsonb_build_object('grantId', s.source -> 'grantId', 'baseBranch', s.source -> 'baseBranch')
        from leases l join sessions s on s.organization_id = l.organization_id and s.id = l.session_id
        where $4 and l.host = $1 and l.ended_at is null and l.tree is not null and s.source is not null) expected
      group by 1, 2, 3 order by max(at) desc limit ${MOST}`,
    values: [host, now, until, withPushed],
  })
}
