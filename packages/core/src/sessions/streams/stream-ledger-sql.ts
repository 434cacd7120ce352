import type { Queryable } from '@berth/platform/storage/postgres/database.ts'

/**
 * Writes how many streams of an authority a process holds, and takes further ones within the bound of all processes.
 * @returns how many of the wanted ones were granted
 */
export async function holdStreams(
  db: Queryable,
  of: { readonly authority: string; readonly holder: string; readonly bound: number; readonly lifeMs: number },
  held: number,
  wanted: number,
): Promise<number> {
  const { rows } = await db.query<{ granted: number }>({
    name: 'hold-streams',
    text: `select hold_streams($1, $2, $3, $4, $5, $6 * interval '1 millisecond') as granted`,
    values: [of.authority, of.holder, held, wanted, of.bound, of.lifeMs],
  })
  return rows[0]?.granted ?? 0
}

/**
 * Renews the rows of a process, on `open_streams_of_holder`, and deletes the lapsed rows of dead ones.
 * @returns how many streams its rows say that it holds, by authority
 */
export async function renewStreams(db: Queryable, holder: string, lifeMs: number): Promise<Map<string, number>> {
  const { rows } = await db.query<{ authority: string; held: number }>({
    name: 'renew-streams',
    text: `
      with lapsed as (delete from open_streams where holder <> $1 and expires_at < clock_timestamp())
      update open_streams set expires_at = clock_timestamp() + $2 * interval '1 millisecond' where holder = $1
      returning authority, held`,
    values: [holder, lifeMs],
  })
  return new Map(rows.map(({ authority, held }) => [authority, held]))
}

/** Gives back every stream that a process holds, on `open_streams_of_holder`. */
export async function releaseStreams(db: Queryable, holder: string): Promise<void> {
  await db.query({ text: 'delete from open_streams where holder = $1', values: [holder] })
}
