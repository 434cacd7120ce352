import type { StatementKeySet } from '@berth/contract'
import { masterKeyOf } from '@berth/platform/storage/master-key.ts'
import type { Database } from '@berth/platform/storage/postgres/database.ts'
import type { Context } from '../../context.ts'
import type { Chore } from '../../housekeeping/chore.ts'
import {
  makeStatementKey,
  openStatementKey,
  type StatementKeyRow,
  type StatementSigner,
  toStatementKey,
} from './statement-key.ts'
import { destroyPrivateHalves, insertStatementKey, listStatementKeys, lockStatementKeys } from './statement-key-sql.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS
/** As long as keys of tokens sign, and are public before that. */
const SIGN_MS = 30 * DAY_MS
const PUBLISH_AHEAD_MS = DAY_MS
/** Clocks of processes differ by less, in milliseconds: a key that begins so soon was made by one whose clock is ahead. */
const CLOCKS_MS = MINUTE_MS

/**
 * Returns the keys, of which one signs now. Whoever needs them makes those that are missing, under a lock: the present one,
 * and its successor a day ahead, so that copies of the key set have it by then. A key whose time is over loses its private
 * half, so nobody signs with an earlier date later on.
 */
async function renewedKeys(db: Database, now: Date): Promise<readonly StatementKeyRow[]> {
  const rows = await listStatementKeys(db)
  if (nextStart(rows, now) === null && rows.every(row => row.sealed_private === null || signsFor(row, now))) return rows
  return db.transaction(async tx => {
    await lockStatementKeys(tx)
    await destroyPrivateHalves(tx, now)
    for (let listed = await listStatementKeys(tx); ; listed = await listStatementKeys(tx)) {
      const from = nextStart(listed, now)
      if (from === null) return listed
      const times = { signs_from: from, signs_until: new Date(from.getTime() + SIGN_MS), revoked_at: null }
      await insertStatementKey(tx, { ...(await makeStatementKey(masterKeyOf(db))), ...times }, now)
    }
  })
}

/** Returns true if a key signs, or is to sign. */
const signsFor = ({ signs_until, revoked_at }: StatementKeyRow, now: Date): boolean =>
  revoked_at === null && signs_until > now

const hasBegun = ({ signs_from }: StatementKeyRow, now: Date): boolean =>
  signs_from.getTime() <= now.getTime() + CLOCKS_MS

/** Returns the time at which a missing key must begin to sign; null if none is missing. */
function nextStart(rows: readonly StatementKeyRow[], now: Date): Date | null {
  const live = rows.filter(row => signsFor(row, now))
  if (!live.some(row => hasBegun(row, now))) return now
  const last = live.reduce((latest, { signs_until }) => (signs_until > latest ? signs_until : latest), now)
  return last.getTime() - now.getTime() <= PUBLISH_AHEAD_MS ? last : null
}

/**
 * Returns the key that signs statements now.
 * @throws UnsealError if another master key has sealed it
 */
export async function statementSigner(db: Database, now: Date): Promise<StatementSigner> {
  const keys = await renewedKeys(db, now)
  const live = keys.filter(row => signsFor(row, now))
  const current = live.findLast(row => row.signs_from <= now) ?? live.find(row => hasBegun(row, now))
  if (current?.sealed_private == null) throw new Error('no key signs statements now')
  return openStatementKey(masterKeyOf(db), current.kid, current.sealed_private)
}

/** Returns the chore that makes keys ahead of their time and destroys private halves, even if nothing is signed or read. */
export function statementChores({ db, clock }: Pick<Context, 'db' | 'clock'>): readonly Chore[] {
  return [{ name: 'renew-statement-keys', intervalMs: HOUR_MS, work: () => renewedKeys(db, clock.now()) }]
}

/**
 * Returns a function that answers with the public keys, oldest first. Anybody may ask, so the table is read at most once a
 * minute.
 */
export function publishedStatementKeys({ db, clock }: Pick<Context, 'db' | 'clock'>): () => Promise<StatementKeySet> {
  let read: Promise<StatementKeySet> | null = null
  let readAtMs = Number.NEGATIVE_INFINITY
  return () => {
    const now = clock.now()
    if (read === null || now.getTime() - readAtMs >= MINUTE_MS) {
      readAtMs = now.getTime()
      read = renewedKeys(db, now).then(keys => ({ keys: keys.map(toStatementKey) }))
      read.catch(() => {
        read = null
      })
    }
    return read
  }
}
