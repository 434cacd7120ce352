import type { Queryable } from '@berth/platform/storage/postgres/database.ts'

/** Why a host rests. `no_answer`: it took a call and did not answer in time. `line_cut`: its line broke while it made a sandbox. */
export type RestCause = 'no_answer' | 'line_cut'

/** How long a host rests. */
export interface RestBounds {
  /** After the first failure; it doubles with each that follows. */
  readonly firstMs: number
  readonly mostMs: number
}

const restBounds: RestBounds = { firstMs: 15_000, mostMs: 10 * 60_000 }
/** A failure so long after the end of the rest before begins a new series. */
const FORGIVEN_MINUTES = 30

/**
 * Keeps a host from further sandboxes for a while, after a failure. All processes read that in its row, by the database's
 * clock, so a restart changes nothing. Every Run that was at the host when it failed tells of it; that is one failure, since
 * a host at rest has no further ones. A quarter of the time is random, so that hosts of one broken network come back apart.
 *
 * @returns until when, and its failures in a row; undefined if it rests already, or is no host that rests
 */
export async function letHostRest(
  db: Queryable,
  id: string,
  because: RestCause,
  { firstMs, mostMs }: RestBounds = restBounds,
): Promise<{ readonly until: Date; readonly failures: number } | undefined> {
  const { rows } = await db.query<{ until: Date; failures: number }>({
    name: 'let-host-rest',
    text: `
      update hosts h
      set failures = failed.times, rests_because = $2,
        rests_until = statement_timestamp() + interval '1 millisecond'
          * least($4::float8, $3::float8 * 2 ^ least(failed.times - 1, 30)) * (0.75 + 0.25 * random())
      from (
        select id, case when rests_until > statement_timestamp() - interval '${FORGIVEN_MINUTES} minutes'
          then failures else 0 end + 1 as times
        from hosts where id = $1 for update) as failed
      where h.id = failed.id and h.provisioner is null and h.removed_at is null
        and coalesce(h.rests_until <= statement_timestamp(), true)
      returning h.rests_until as until, h.failures`,
    values: [id, because, firstMs, mostMs],
  })
  return rows[0]
}

/** Ends the rest of a host and forgets its failures. */
export async function endHostRest(db: Queryable, id: string): Promise<void> {
  await db.query({
    name: 'end-host-rest',
    text: `
      update hosts set failures = 0, rests_until = null, rests_because = null
      where id = $1 and (failures > 0 or rests_until is not null)`,
    values: [id],
  })
}
