import type { SessionKey } from '@berth/platform/kit/session-key.ts'
import type { Queryable } from '@berth/platform/storage/postgres/database.ts'
import { appendEvents } from '../log/append.ts'
import type { EventDraft } from '../log/envelope.ts'
import { sessionRedactor } from '../log/session-redactor.ts'
import { addEgress } from './egress-sql.ts'
import { addSecretUses } from './secret-uses.ts'
import type { HostTally, RefusalTally } from './tally.ts'

/** Characters of a reason that the log has; some of it may be the program's own words. */
const REASON_CHARACTERS = 500

/** What a worker's proxy has seen of a sandbox since it last wrote it down. */
export interface EgressBatch {
  readonly hosts: readonly HostTally[]
  /** Refusals that the log is to tell. */
  readonly refusals: readonly RefusalTally[]
}

/**
 * Writes down what a sandbox reached and what it was refused. Names are masked before: a program can put a secret into one, which then is in lower case.
 * The caller holds the Session's lock.
 * @param runId the Run that is at work; null: none, or it has ended, and no Event may follow its last
 */
export async function recordEgress(
  tx: Queryable,
  key: SessionKey,
  runId: string | null,
  { hosts, refusals }: EgressBatch,
  now: Date,
): Promise<void> {
  const redactor = await sessionRedactor(tx, key)
  const masked = hosts.map(tally => ({ ...tally, host: redactor.anyCase(tally.host) }))
  const named = await addEgress(tx, key, sumByHost(masked), now)
  const counted = masked.map(tally => (named.has(targetOf(tally)) ? tally : { ...tally, host: '' }))
  await addSecretUses(tx, key, counted, now)
  // Masked before it is cut: half a secret is no secret that anybody would find.
  const cut = (message: string) => redactor.anyCase(message).slice(0, REASON_CHARACTERS)
  const drafts = refusals.map(({ target, message, ...tally }) => {
    const told = target && { ...target, host: redactor.anyCase(target.host) }
    return refusedEvent(runId, { ...tally, target: told, message: cut(message) })
  })
  if (drafts.length > 0) await appendEvents(tx, key, drafts, now)
}

/** Two hosts may have the same name once they are masked, and one statement writes a row once. */
function sumByHost(tallies: readonly HostTally[]): readonly HostTally[] {
  const sums = new Map<string, HostTally>()
  for (const tally of tallies) {
    const id = targetOf(tally)
    const sum = sums.get(id)
    sums.set(id, sum === undefined ? tally : plus(sum, tally))
  }
  return [...sums.values()]
}

const targetOf = ({ host, port }: HostTally) => `${host}:${port}`

const plus = (one: HostTally, other: HostTally): HostTally => ({
  ...one,
  reached: one.reached + other.reached,
  refused: one.refused + other.refused,
  sentBytes: one.sentBytes + other.sentBytes,
  receivedBytes: one.receivedBytes + other.receivedBytes,
  lastReason: other.lastReason ?? one.lastReason,
  secrets: sumOfUses(one.secrets, other.secrets),
})

/** A secret may be called `constructor` or `__proto__`, so nothing is inherited. */
function sumOfUses(...all: readonly HostTally['secrets'][]): HostTally['secrets'] {
  const sum: Record<string, number> = Object.create(null)
  for (const [name, uses] of all.flatMap(Object.entries<number>)) sum[name] = (sum[name] ?? 0) + uses
  return sum
}

const refusedEvent = (runId: string | null, { target, reason, message, count }: RefusalTally): EventDraft => ({
  type: 'svc.egress.refused',
  visibility: 'timeline',
  ...(runId !== null && { runId }),
  data: {
    ...target,
    reason,
    ...(message !== '' && { message }),
    count,
    ...(reason === 'nobody_to_ask' && { wouldAsk: true }),
  },
})
