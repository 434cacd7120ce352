import type { SessionKey } from '@berth/platform/kit/session-key.ts'
import { type Queryable, queryRows } from '@berth/platform/storage/postgres/database.ts'
import type { HostTally } from './tally.ts'

/** Hosts of one Session that have a row of their own, and as many more that got a secret. */
export const MOST_HOSTS = 500

/** A host of a Session. The host '' counts those that have no row of their own. */
export interface EgressRow {
  readonly host: string
  readonly port: number
  readonly reached: number
  readonly refused: number
  readonly sent_bytes: number
  readonly received_bytes: number
  readonly last_reason: string | null
  readonly secrets: Readonly<Record<string, number>>
  readonly first_at: Date
  readonly last_at: Date
}

/** Lists the hosts of a Session, the last one first, by the primary key. */
export async function listEgress(db: Queryable, key: SessionKey): Promise<readonly EgressRow[]> {
  return await queryRows<EgressRow>(db, {
    name: 'list-session-egress',
    text: `
      select host, port, reached, refused, sent_bytes, received_bytes, last_reason, secrets, first_at, last_at
      from session_egress where organization_id = $1 and session_id = $2
      order by last_at desc, host, port`,
    values: [key.organizationId, key.sessionId],
  })
}

/**
 * Adds to what a Session had to do with hosts. Beyond 500 hosts, further ones are added to the row without a name, since a
 * program can make up any number of names. Hosts that got a secret have 500 rows of their own: a secret for `*.name` goes to any
 * number of them. The caller holds the Session's lock, so the counts stand.
 * @returns `host:port` of the given that have a row
 */
export async function addEgress(
  tx: Queryable,
  key: SessionKey,
  tallies: readonly HostTally[],
  now: Date,
): Promise<ReadonlySet<string>> {
  if (tallies.length === 0) return new Set()
  const { rows } = await tx.query<{ target: string }>({
    name: 'add-session-egress',
    text: `
      with given as (
        select host, port, reached, refused, sent, received, reason, secrets, n,
          exists (
            select from session_egress e
            where e.organization_id = $1 and e.session_id = $2 and e.host = given.host and e.port = given.port
          ) as is_known
        from unnest($4::text[], $5::int[], $6::bigint[], $7::bigint[], $8::bigint[], $9::bigint[], $10::text[], $11::jsonb[])
          with ordinality as given (host, port, reached, refused, sent, received, reason, secrets, n)
      ), room as (
        select count(*) as taken, count(*) filter (where secrets = '{}') as unused from session_egress
        where organization_id = $1 and session_id = $2 and host <> ''
      ), placed as (
        select *, is_known or (
            count(*) filter (where not is_known) over (order by secrets = '{}', n) + taken <= ${2 * MOST_HOSTS}
            and (secrets <> '{}'
              or count(*) filter (where not is_known and secrets = '{}') over (order by n) + unused <= ${MOST_HOSTS})
          ) as has_row
        from given, room
      ), merged as (
        select case when has_row then host else '' end as host, case when has_row then port else 0 end as port,
          sum(reached) as reached, sum(refused) as refused, sum(sent) as sent, sum(received) as received,
          max(reason) filter (where has_row) as reason,
          coalesce((array_agg(secrets) filter (where has_row))[1], '{}') as secrets
        from placed group by 1, 2
      )
      insert into session_egress as e (organization_id, session_id, host, port, reached, refused, sent_bytes, received_bytes,
        last_reason, secrets, first_at, last_at)
      select $1, $2, host, port, reached, refused, sent, received, reason, secrets, $3, $3 from merged
      on conflict (organization_id, session_id, host, port) do update set
        reached = e.reached + excluded.reached, refused = e.refused + excluded.refused,
        sent_bytes = e.sent_bytes + excluded.sent_bytes, received_bytes = e.received_bytes + excluded.received_bytes,
        last_reason = coalesce(excluded.last_reason, e.last_reason), last_at = excluded.last_at,
        secrets = e.secrets || (
          select coalesce(jsonb_object_agg(name, uses::bigint + coalesce((e.secrets ->> name)::bigint, 0)), '{}')
          from jsonb_each_text(excluded.secrets) as used (name, uses))
      returning host || ':' || port as target`,
    values: [
      key.organizationId,
      key.sessionId,
      now,
      tallies.map(({ host }) => host),
      tallies.map(({ port }) => port),
      tallies.map(({ reached }) => reached),
      tallies.map(({ refused }) => refused),
      tallies.map(({ sentBytes }) => sentBytes),
      tallies.map(({ receivedBytes }) => receivedBytes),
      tallies.map(({ lastReason }) => lastReason),
      tallies.map(({ secrets }) => JSON.stringify(secrets)),
    ],
  })
  return new Set(rows.map(({ target }) => target))
}
