import type { Context } from '../../context.ts'
import { dropPacks, findSuperseded } from '../reviews/review-sql.ts'
import { holdSession } from '../session/session-sql.ts'

/** Most Sessions of one look. */
const AT_ONCE = 100

/**
 * Gives up the objects of revisions from before a time that later ones supersede. Their documents and files stay, so they are
 * read as before.
 * @param signal ends the work between two Sessions
 * @returns the number of revisions
 */
export async function dropSupersededPacks(
  { db, clock }: Pick<Context, 'db' | 'clock'>,
  before: Date,
  signal: AbortSignal,
): Promise<number> {
  let dropped = 0
  for (;;) {
    const keys = await findSuperseded(db, before, AT_ONCE)
    let count = 0
    for (const key of keys) {
      signal.throwIfAborted()
      count += await db.transaction(async tx => {
        await holdSession(tx, key)
        return dropPacks(tx, key, before, clock.now())
      })
    }
    dropped += count
    if (keys.length < AT_ONCE || count === 0) return dropped
  }
}
