import type { SessionKey } from '@berth/platform/kit/session-key.ts'
import { type Queryable, queryRows } from '@berth/platform/storage/postgres/database.ts'
import { cutText } from '../log/bounded-text.ts'

/** Number of messages read, and bytes of them that are told. */
const MESSAGES = 40
const MAX_BYTES = 32 * 1024

/** Bounds of a recap. */
export interface RecapBounds {
  /** A Run that is left out. */
  readonly without?: string | null
  /** The newest Event that counts. */
  readonly until?: number | null
}

/**
 * Returns the last messages of a Session from its log, oldest first, for an agent that cannot load its conversation. In a
 * fork, those of the other Session come before them.
 *
 * @returns null if there are none since the Session began or was reset
 */
export async function readRecap(
  db: Queryable,
  key: SessionKey,
  { without = null, until = null }: RecapBounds = {},
): Promise<string | null> {
  const [own, before] = await Promise.all([listMessages(db, key, without, until), findForkedRecap(db, key)])
  const lines: string[] = []
  let bytes = 0
  for (const { role, text } of own) {
    const line = `${role}: ${cutText(text, MAX_BYTES / 4).text}`
    bytes += Buffer.byteLength(line)
    if (bytes > MAX_BYTES) break
    lines.unshift(line)
  }
  if (before !== null) return [before, ...lines].join('\n\n')
  if (lines.length === 0) return null
  return `Earlier in this conversation, which this process has not seen; the files are as that conversation left them:\n\n${lines.join('\n\n')}`
}

interface Message {
  readonly role: string
  readonly text: string
}

/** Lists messages since the Session began or was reset, newest first. */
async function listMessages(
  db: Queryable,
  key: SessionKey,
  without: string | null,
  until: number | null,
): Promise<readonly Message[]> {
  return await queryRows<Message>(db, {
    text: `
      select envelope::jsonb #>> '{data,role}' as role, envelope::jsonb #>> '{data,text}' as text
      from events
      where organization_id = $1 and session_id = $2 and type = 'svc.message.created'
        and envelope::jsonb #>> '{data,role}' in ('user', 'assistant')
        and ($4::uuid is null or run_id is distinct from $4::uuid)
        and ($5::bigint is null or sequence <= $5::bigint)
        and run_id in (
          select t.run_id from sessions s
          join turns t on t.organization_id = s.organization_id and t.session_id = s.id
          where s.organization_id = $1 and s.id = $2 and t.sequence >= s.fresh_from_turn)
      order by sequence desc limit $3`,
    values: [key.organizationId, key.sessionId, MESSAGES, without, until],
  })
}

/** Returns a fork's recap of the other Session; null for another Session, and after a reset. */
async function findForkedRecap(db: Queryable, key: SessionKey): Promise<string | null> {
  const { rows } = await db.query<{ recap: string | null }>({
    text: `
      select forked_recap as recap from sessions where organization_id = $1 and id = $2 and fresh_from_turn = 0`,
    values: [key.organizationId, key.sessionId],
  })
  return rows[0]?.recap ?? null
}
