import { type Queryable, queryChanged } from '@berth/platform/storage/postgres/database.ts'

/** What a host says of itself when it dials. */
export interface DialledHost {
  readonly capacity: number
  /** Undefined: whichever its token is for. */
  readonly pool: string | undefined
  readonly labels: Readonly<Record<string, string>>
  readonly driver: string
}

/** A host that is connected. */
export interface ConnectedHost {
  readonly id: string
  readonly tokenSha256: Buffer
  /** Number of the connection; a later one ends it. */
  readonly epoch: number
}

/** A host whose token is for another pool than it says. */
export interface OtherPool {
  readonly ownPool: string
}

/**
 * Takes a connection of the host with a token, in place of the one before.
 *
 * Whoever made the token decides on the organization and the pool, bounds the capacity, and may set labels. The host says
 * the rest: it may offer less, and add labels of other names. What it said last never counts against what it says now.
 *
 * @param holder the process that has it
 * @returns null if no host has the token
 */
export async function takeConnection(
  db: Queryable,
  tokenSha256: Buffer,
  { capacity, pool, labels, driver }: DialledHost,
  holder: string,
): Promise<ConnectedHost | OtherPool | null> {
  const { rows } = await db.query<{
    own_pool: string
    id: string | null
    token_sha256: Buffer
    epoch: string
  }>({
    name: 'take-host-connection',
    text: `
      with known as (select pool as own_pool from hosts where token_sha256 = $1), taken as (
        update hosts
        set epoch = epoch + 1, connected_to = $2, capacity = least($3, admitted_capacity),
          labels = $5::jsonb || admitted_labels, driver = $6, heard_at = now(), refused_protocol = null
        where token_sha256 = $1 and pool = coalesce($4, pool)
        returning id, token_sha256, epoch
      ) select known.own_pool, taken.* from known left join taken on true`,
    values: [tokenSha256, holder, capacity, pool, JSON.stringify(labels), driver],
  })
  const [row] = rows
  if (row === undefined) return null
  if (row.id === null) return { ownPool: row.own_pool }
  return { id: row.id, tokenSha256: row.token_sha256, epoch: Number(row.epoch) }
}

/**
 * Notes that the host with a token dialled with another protocol and was refused; its next connection takes that back.
 * @returns false if no host has the token
 */
export async function noteRefusedProtocol(db: Queryable, tokenSha256: Buffer, protocol: string): Promise<boolean> {
  return await queryChanged(db, {
    name: 'note-refused-protocol',
    text: 'update hosts set refused_protocol = $2 where token_sha256 = $1 and removed_at is null',
    values: [tokenSha256, protocol],
  })
}

/** Returns which of these connections are still the newest of their hosts, by host id. */
export async function newestConnections(
  db: Queryable,
  held: readonly { readonly id: string; readonly epoch: number }[],
): Promise<ReadonlySet<string>> {
  const { rows } = await db.query<{ id: string }>({
    name: 'newest-host-connections',
    text: `
      select h.id from hosts h join unnest($1::text[], $2::bigint[]) as held (id, epoch) on held.id = h.id
      where h.epoch = held.epoch and (h.token_sha256 is not null or h.provisioner is not null)
        and h.removed_at is null`,
    values: [held.map(({ id }) => id), held.map(({ epoch }) => epoch)],
  })
  return new Set(rows.map(({ id }) => id))
}

/** Notes that nobody has a host's connection, unless it has a newer one. */
export async function leaveConnection(db: Queryable, { id, epoch }: { id: string; epoch: number }): Promise<void> {
  await db.query({
    name: 'leave-host-connection',
    text: 'update hosts set connected_to = null where id = $1 and epoch = $2',
    values: [id, epoch],
  })
}
