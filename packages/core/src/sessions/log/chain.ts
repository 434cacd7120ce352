import { createHash } from 'node:crypto'
import type { SessionKey } from '@berth/platform/kit/session-key.ts'
import { type Queryable, queryRow } from '@berth/platform/storage/postgres/database.ts'
import { findEventPage } from '../../sealed-logs/page-sql.ts'
import { type LogSource, openPage } from '../../sealed-logs/read-sealed.ts'

// The log is a chain: the digest of an Event is SHA-256 over the digest before it (32 bytes) and the Event's text as it is
// stored, in UTF-8. Before the first stands SHA-256 of `berth log <session id> from <its sequence>`. The append makes the
// digests under the Session's lock and keeps the last of each append; those between follow from the texts.

/** What a log comes to at one of its Events. */
export interface LogDigest {
  readonly sequence: number
  /** SHA-256 in hexadecimal; null before the chain begins, and if an Event is missing. */
  readonly digest: string | null
  /** Sequence of the first Event of the chain: 1, but for a log that is older than chains; null while there is none. */
  readonly beginsAt: number | null
  /** The newest sequence of the log. */
  readonly lastSequence: number
}

/**
 * Returns the digest of a log up to one of its Events, by the database alone: `digest` is null within the part of an old log
 * that is sealed. In a transaction it counts what that has appended.
 * @param sequence null for the newest
 * @returns null if there is no such Session
 */
export async function digestAt(db: Queryable, key: SessionKey, sequence: number | null): Promise<LogDigest | null> {
  return await queryRow<LogDigest>(db, {
    name: 'log-digest',
    text: `
      select sequence, chain_begins as "beginsAt", last_event_sequence as "lastSequence",
        case when sequence between chain_begins and last_event_sequence
          then encode(log_digest_at(organization_id, id, sequence), 'hex') end as digest
      from (select *, coalesce($3, last_event_sequence) as sequence from sessions) s
      where organization_id = $1 and id = $2`,
    values: [key.organizationId, key.sessionId, sequence],
  })
}

/**
 * Returns the digest of a log up to one of its Events as `digestAt` does, sealed or not.
 * @throws BlobsUnavailable, BlobMissing
 */
export async function digestWithin(
  source: LogSource,
  key: SessionKey,
  sequence: number | null,
): Promise<LogDigest | null> {
  const found = await digestAt(source.db, key, sequence)
  if (found === null || found.digest !== null) return found
  const { beginsAt, lastSequence, sequence: place } = found
  if (beginsAt === null || place < beginsAt || place > lastSequence) return found
  const page = await findEventPage(source.db, key, place)
  if (page === null) return found
  const first = Math.max(beginsAt, page.first_sequence)
  const prior = await source.db.query<{ prior: Buffer | null }>({
    text: 'select log_digest_at($1, $2, $3) as prior',
    values: [key.organizationId, key.sessionId, first - 1],
  })
  const start = prior.rows[0]?.prior ?? null
  if (start === null) return found
  const events = (await openPage(source.blobs, page)).filter(({ sequence: each }) => each >= first && each <= place)
  const digest = events.reduce((before, { envelope }) => digestAfter(before, envelope), start)
  return { ...found, digest: digest.toString('hex') }
}

const digestAfter = (prior: Buffer, envelope: string): Buffer =>
  createHash('sha256').update(prior).update(envelope).digest()
