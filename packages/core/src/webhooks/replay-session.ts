import { webhookLimits } from '@berth/contract'
import type { Queryable } from '@berth/platform/storage/postgres/database.ts'
import type { Context } from '../context.ts'
import { findSealedEnd } from '../sealed-logs/page-sql.ts'
import { readSealedPage, type SealedEvent } from '../sealed-logs/read-sealed.ts'
import { lockReplayed, replay, typesOf } from './delivery-log-sql.ts'

/** Who receives which Events of a Session again. */
export interface ReplayRequest {
  readonly endpoint: { readonly id: string; readonly installationId: string; readonly organizationId: string }
  readonly sessionId: string
  readonly after: number
  readonly families: readonly string[]
}

/**
 * Queues a Session's Events after a sequence for an endpoint once more, sealed or not, as many as one replay may.
 *
 * The sealed ones are read before the transaction, which waits for no blob. If more of the log was sealed until it has the
 * Session's lock, both begin anew.
 * @param settle what else belongs into the transaction
 * @returns the sequences; null if the Session is not the installation's
 */
export async function replaySession(
  { db, blobs, clock }: Pick<Context, 'db' | 'blobs' | 'clock'>,
  { endpoint, sessionId, after, families }: ReplayRequest,
  settle: (tx: Queryable, sequences: readonly number[]) => Promise<void>,
): Promise<readonly number[] | null> {
  const key = { organizationId: endpoint.organizationId, sessionId }
  const types = typesOf(families)
  if (!(await db.transaction(tx => lockReplayed(tx, endpoint, sessionId)))) return null
  for (;;) {
    const sealedEnd = await findSealedEnd(db, key)
    const sealed: SealedEvent[] = []
    for (let at = after; at < sealedEnd && sealed.length < webhookLimits.replayed; ) {
      const page = await readSealedPage({ db, blobs }, key, at + 1)
      for (const event of page) if (event.sequence > after && types.includes(typeOf(event))) sealed.push(event)
      at = page.at(-1)?.sequence ?? sealedEnd
    }
    const sent = await db.transaction(async tx => {
      if (!(await lockReplayed(tx, endpoint, sessionId))) return null
      if ((await findSealedEnd(tx, key)) !== sealedEnd) return 'again' as const
      const sequences = await replay(tx, endpoint, { sessionId, after, types, sealed }, clock.now())
      await settle(tx, sequences)
      return sequences
    })
    if (sent !== 'again') return sent
  }
}

const typeOf = ({ envelope }: SealedEvent): string => (JSON.parse(envelope) as { readonly type: string }).type
