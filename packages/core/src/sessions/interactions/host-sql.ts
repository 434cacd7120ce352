import type { SessionKey } from '@berth/platform/kit/session-key.ts'
import { type Queryable, queryRow, queryRows } from '@berth/platform/storage/postgres/database.ts'
import type { LastQuestion } from './host-decision.ts'
import type { InteractionRow } from './interaction.ts'

/** A connection that a Run's sandbox wants. */
export interface WantedHost extends SessionKey {
  readonly runId: string
  readonly environmentId: string
  readonly host: string
  readonly port: number
}

export const destinationOf = ({ host, port }: Pick<WantedHost, 'host' | 'port'>): string => `${host}:${port}`

/** What was decided about a host before. */
export interface HostFacts {
  /** Who allowed it for the environment; null: nobody did. */
  readonly allowedBy: { readonly kind: 'person' | 'app_installation'; readonly id: string } | null
  readonly last: LastQuestion | null
}

/** Reads what was decided about a host, in one statement, by primary key and on `interactions_of_hosts`. */
export async function findHostFacts(db: Queryable, wanted: WantedHost): Promise<HostFacts> {
  const { rows } = await db.query<
    (LastQuestion | { readonly id: null }) & {
      readonly by_kind: 'person' | 'app_installation' | null
      readonly by_id: string | null
    }
  >({
    name: 'find-host-facts',
    text: `
      select h.decided_by_kind as by_kind, h.decided_by_id as by_id, i.id, i.status, i.resolution, i.deadline,
        i.delivered_at, i.decided_by_kind, i.lease_id
      from (select) as one
      left join environment_hosts h on h.organization_id = $1 and h.environment_id = $5 and h.host = $6
      left join lateral (
        select * from interactions
        where organization_id = $1 and session_id = $2 and run_id = $3 and destination = $4
        order by opened_at desc limit 1
      ) i on true`,
    values: [
      wanted.organizationId,
      wanted.sessionId,
      wanted.runId,
      destinationOf(wanted),
      wanted.environmentId,
      wanted.host,
    ],
  })
  const [row] = rows
  if (row === undefined) return { allowedBy: null, last: null }
  const { by_kind: kind, by_id: id, ...last } = row
  return { allowedBy: kind === null || id === null ? null : { kind, id }, last: isQuestion(last) ? last : null }
}

/** The row has the columns of an approval also if there is none. */
const isQuestion = (row: LastQuestion | { readonly id: null }): row is LastQuestion => row.id !== null

/** Returns who allowed a host for an environment; null if nobody did. */
export async function findAllowedBy(
  db: Queryable,
  { organizationId, environmentId, host }: Pick<WantedHost, 'organizationId' | 'environmentId' | 'host'>,
): Promise<HostFacts['allowedBy']> {
  return await queryRow<NonNullable<HostFacts['allowedBy']>>(db, {
    name: 'find-host-allowed-by',
    text: `
      select decided_by_kind as kind, decided_by_id as id from environment_hosts
      where organization_id = $1 and environment_id = $2 and host = $3`,
    values: [organizationId, environmentId, host],
  })
}

/** Counts the approvals about hosts of a Run: those that are open, and all. */
export async function countHostQuestions(
  tx: Queryable,
  key: SessionKey,
  runId: string,
): Promise<{ readonly open: number; readonly all: number }> {
  const { rows } = await tx.query<{ open: number; all: number }>({
    name: 'count-host-questions',
    text: `
      select count(*) filter (where status = 'open')::int as open, count(*)::int as all from interactions
      where organization_id = $1 and session_id = $2 and run_id = $3 and destination is not null`,
    values: [key.organizationId, key.sessionId, runId],
  })
  return rows[0] ?? { open: 0, all: 0 }
}

/** Notes that the first connection has used a decision for once. */
export async function markUsed(db: Queryable, key: SessionKey, id: string, now: Date): Promise<void> {
  await db.query({
    name: 'mark-host-decision-used',
    text: `
      update interactions set delivered_at = $4
      where organization_id = $1 and session_id = $2 and id = $3 and delivered_at is null`,
    values: [key.organizationId, key.sessionId, id, now],
  })
}

/** Lists the open approvals of a Session about a host, at any port. */
export async function listOpenAbout(tx: Queryable, key: SessionKey, host: string): Promise<InteractionRow[]> {
  return await queryRows<InteractionRow>(tx, {
    name: 'list-open-about-host',
    text: `
      select * from interactions
      where organization_id = $1 and session_id = $2 and status = 'open' and destination is not null
        and left(destination, length($3) + 1) = $3 || ':'`,
    values: [key.organizationId, key.sessionId, host],
  })
}
