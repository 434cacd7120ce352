import { takes, takesNew } from '@berth/core/runtimes/own-hosts.ts'
import type { SessionKey } from '@berth/platform/kit/session-key.ts'
import type { Queryable } from '@berth/platform/storage/postgres/database.ts'

/**
 * Returns the host among those of this process at which a Session without a sandbox gets one: first those that have its
 * runtime, if only some machines have it, then those of its own organization, then the one of its last sandbox, which has
 * its repository, its image and its packages, and then the one with the largest part of its capacity free. Of those, one
 * that is away, full, cordoned or at rest after failures comes last, since a Run that has begun has to go on somewhere; a
 * pod never has a second sandbox, so it comes not at all. A host of another organization never gets one: the work and its
 * secrets would lie on that one's machine.
 *
 * @param parts.pending sandboxes that are about to be made
 * @param parts.away hosts whose line is cut
 * @returns null if none of the hosts works for the organization and can hold a sandbox
 */
export async function chooseHost(
  db: Queryable,
  hosts: readonly string[],
  { organizationId, sessionId }: SessionKey,
  { pending, away }: { readonly pending: readonly Pending[]; readonly away: readonly string[] },
): Promise<string | null> {
  const { rows } = await db.query<{ id: string }>({
    name: 'choose-host',
    text: `
      select id from (
        select own.id, h.organization_id, h.capacity, own.n,
          coalesce(h.runtimes @> array[r.runtime], false) as has_runtime,
          ${takesNew('h')} as is_open, h.provisioner is not null as is_pod,
          own.id <> all ($7) as is_here, ${roomOf('h', "'Infinity'::float8", '$4', '$5', '$6')}::float8 as room
        from unnest($1::text[]) with ordinality as own (id, n) left join hosts h on h.id = own.id
        left join lateral (
          select runtime from runs where organization_id = $2 and session_id = $3 order by queued_at desc limit 1
        ) r on true
        where ${takes('h', '$2::uuid')}
      ) as host
      where not is_pod or (is_open and is_here and room > 0)
      order by has_runtime desc, is_open and is_here and room > 0 desc, organization_id is not null desc, id = (
        select l.host from leases l where l.organization_id = $2 and l.session_id = $3
        order by l.created_at desc limit 1) desc nulls last, room / coalesce(capacity, 1) desc, n
      limit 1`,
    values: [hosts, organizationId, sessionId, ...pendingColumns(pending), away],
  })
  return rows[0]?.id ?? null
}

/** A sandbox that a claim is to have. It takes room until its lease has a row. */
export interface Pending {
  readonly organizationId: string
  readonly sessionId: string
  readonly host: string
}

/** Returns the columns of sandboxes that are to be made, for `roomOf`. */
export const pendingColumns = (pending: readonly Pending[]): readonly (readonly string[])[] => [
  pending.map(({ organizationId }) => organizationId),
  pending.map(({ sessionId }) => sessionId),
  pending.map(({ host }) => host),
]

/**
 * SQL: how many sandboxes more a host may hold, on `leases_of_host`.
 * @param boundless expression for a host without a capacity
 * @param pending parameters with the columns of `pendingColumns`
 */
export const roomOf = (host: string, boundless: string, ...pending: readonly [string, string, string]): string => `
  case when ${host}.capacity is null then ${boundless} else
    ${host}.capacity
    - (select count(*) from leases l where l.host = ${host}.id and l.ended_at is null)
    - (select count(*) from unnest(${pending[0]}::uuid[], ${pending[1]}::uuid[], ${pending[2]}::text[])
         as p (organization_id, session_id, host)
       where p.host = ${host}.id and not exists (
         select 1 from leases l
         where l.organization_id = p.organization_id and l.session_id = p.session_id and l.ended_at is null))
  end`
