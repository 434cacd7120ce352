import { ApiError } from '@berth/platform/kit/api-error.ts'
import type { Clock } from '@berth/platform/kit/clock.ts'
import type { Log } from '@berth/platform/kit/log.ts'
import type { PeriodicTask } from '@berth/platform/kit/periodic-tasks.ts'
import type { Database } from '@berth/platform/storage/postgres/database.ts'
import { logFailure } from '@berth/platform/storage/postgres/log-failure.ts'
import { topics, type Wakeups } from '@berth/platform/storage/postgres/wakeups.ts'
import type { Context } from '../../context.ts'
import { endConnectionsOf } from '../../repositories/grant-sql.ts'
import type { AccountClient } from './account-client.ts'
import type { CopiedRows } from './copied-rows.ts'
import { applyChanges, readFeedCursor, writeFeedCursor } from './copy-sql.ts'
import { changeKinds, internalPaths, isRevocations, type Revocations } from './wire.ts'

const POLL_MS = 1_000

/**
 * Brings the copies of the account service's rows up to date: it reads what has changed since the last look, and keeps
 * its place in the database. What a change stops is then stopped as if the rows were here: `AuthoritySweeper` ends Runs,
 * `TerminalKeeper` terminals, and streams ask the guard again. Every process follows, so the changes arrive whichever of them lives.
 */
export class RevocationFollower implements PeriodicTask {
  readonly name = 'revocation-follower'
  readonly intervalMs = POLL_MS
  readonly #account: AccountClient
  readonly #copies: CopiedRows
  readonly #db: Database
  readonly #clock: Clock
  readonly #log: Log
  readonly #wakeups: Wakeups

  constructor(
    { account, copies }: { readonly account: AccountClient; readonly copies: CopiedRows },
    { db, clock, log, wakeups }: Pick<Context, 'db' | 'clock' | 'log' | 'wakeups'>,
  ) {
    this.#account = account
    this.#copies = copies
    this.#db = db
    this.#clock = clock
    this.#log = log
    this.#wakeups = wakeups
  }

  /** Reads all pages that there are now. */
  async round(): Promise<void> {
    for (let more = true; more; ) {
      const after = await readFeedCursor(this.#db, false)
      this.#copies.atCursor(after)
      const page = await this.#account.ask(
        `${internalPaths.revocations}?after=${after}&kinds=${changeKinds.join()}`,
        isRevocations,
      )
      more = (await this.#apply(after, page)) && page.more
    }
  }

  failed(error: unknown): void {
    // The client has logged that the account service is away.
    if (error instanceof ApiError) return
    logFailure(this.#log, error, {
      waiting: 'the database is away; changes of the account service are applied once it is back',
      failed: 'could not apply the changes of the account service',
    })
  }

  /** @returns false if the place has moved meanwhile: the page may be older than what another process has applied */
  async #apply(after: string, { changes, cursor }: Revocations): Promise<boolean> {
    if (cursor === after) return true
    const applied = await this.#db.transaction(async tx => {
      if ((await readFeedCursor(tx, true)) !== after) return false
      const ended = await applyChanges(tx, changes)
      for (const id of ended) await endConnectionsOf(tx, id, this.#clock.now())
      await writeFeedCursor(tx, cursor)
      return true
    })
    if (!applied) return false
    this.#copies.atCursor(cursor)
    // The keepers of terminals look twice as seldom as this does.
    this.#wakeups.publish(topics.terminals)
    return true
  }
}
