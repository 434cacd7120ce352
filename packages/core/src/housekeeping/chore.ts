import type { Clock } from '@berth/platform/kit/clock.ts'
import { type Queryable, queryChanged } from '@berth/platform/storage/postgres/database.ts'

/** Time after which a hold on a chore lapses without a renewal. */
const HOLD_MS = 60_000

export interface Chore {
  readonly name: string
  readonly intervalMs: number
  /** Must stop when the signal aborts: another process may then hold the chore. */
  work(signal: AbortSignal): Promise<unknown>
}

/**
 * Does a chore if it is due and no other process holds it.
 *
 * @returns true if this process did it
 */
export async function doChore(db: Queryable, clock: Clock, holder: string, chore: Chore): Promise<boolean> {
  if (!(await take(db, clock.now(), holder, chore))) return false
  const lost = new AbortController()
  let heldUntil = clock.now().getTime() + HOLD_MS
  const renewing = setInterval(() => {
    const now = clock.now()
    // While the database is away nothing is renewed, and this process stops no later than others may take over.
    if (now.getTime() > heldUntil - HOLD_MS / 4) lost.abort(new Error(`the chore ${chore.name} could not be renewed`))
    renew(db, now, holder, chore.name).then(
      held => {
        if (held) heldUntil = now.getTime() + HOLD_MS
        else lost.abort(new Error(`the chore ${chore.name} was taken over`))
      },
      () => undefined,
    )
  }, HOLD_MS / 4)
  try {
    await chore.work(lost.signal)
    await finish(db, clock.now(), holder, chore.name)
    return true
  } finally {
    clearInterval(renewing)
  }
}

async function take(db: Queryable, now: Date, holder: string, { name, intervalMs }: Chore): Promise<boolean> {
  return await queryChanged(db, {
    text: `
      insert into chores as c (name, holder, expires_at) values ($1, $2, $3)
      on conflict (name) do update set holder = excluded.holder, expires_at = excluded.expires_at
      where c.expires_at < $4 and (c.done_at is null or c.done_at < $5)`,
    values: [name, holder, new Date(now.getTime() + HOLD_MS), now, new Date(now.getTime() - intervalMs)],
  })
}

async function renew(db: Queryable, now: Date, holder: string, name: string): Promise<boolean> {
  return await queryChanged(db, {
    text: 'update chores set expires_at = $3 where name = $1 and holder = $2',
    values: [name, holder, new Date(now.getTime() + HOLD_MS)],
  })
}

async function finish(db: Queryable, now: Date, holder: string, name: string): Promise<void> {
  await db.query({
    text: 'update chores set expires_at = $3, done_at = $3 where name = $1 and holder = $2',
    values: [name, holder, now],
  })
}
