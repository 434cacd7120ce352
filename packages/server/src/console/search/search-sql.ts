import type { SessionKey } from '@berth/platform/kit/session-key.ts'
import type { Queryable } from '@berth/platform/storage/postgres/database.ts'

/** Where to search, and how much of the log at most. */
export interface SearchWindow {
  /** Exclusive: the Events before this one are searched, the newest first. */
  readonly before: number
  /** Part of an envelope as it is stored, in either case. */
  readonly part: string
  readonly events: number
  readonly bytes: number
  readonly limit: number
}

export interface Candidates {
  /** The oldest Event that was looked at; null if there was none. */
  readonly reached: number | null
  readonly rows: readonly { readonly sequence: number; readonly envelope: string }[]
}

/** Finds the Events whose envelope contains a text, the newest first. */
export async function findCandidates(db: Queryable, key: SessionKey, window: SearchWindow): Promise<Candidates> {
  const { rows } = await db.query<{ reached: number | null; rows: Candidates['rows'] | null }>({
    name: 'search-events',
    text: `
      with recent as (
        select sequence, sum(octet_length(envelope)) over (
          order by sequence desc rows between unbounded preceding and 1 preceding
        ) as bytes_before, envelope
        from events
        where organization_id = $1 and session_id = $2 and sequence < $3
        order by sequence desc limit $5
      ), looked_at as materialized (
        select sequence, envelope from recent where coalesce(bytes_before, 0) < $6
      ), found as (
        select sequence, envelope from looked_at where position(lower($4) in lower(envelope)) > 0
        order by sequence desc limit $7
      )
      select
        (select min(sequence) from looked_at) as reached,
        (select json_agg(json_build_object('sequence', sequence, 'envelope', envelope) order by sequence desc)
          from found) as rows`,
    values: [key.organizationId, key.sessionId, window.before, window.part, window.events, window.bytes, window.limit],
  })
  return { reached: rows[0]?.reached ?? null, rows: rows[0]?.rows ?? [] }
}
