import type { SessionKey } from '../../kit/session-key.ts'
import { startAgentFrom } from '../../sessions/leases/lease-sql.ts'
import { cutText } from '../../sessions/log/bounded-text.ts'
import type { Queryable } from '../../storage/postgres/database.ts'
import type { RunClaim } from '../claim/claim.ts'
import type { ExecutionContext } from '../claim/execution-context.ts'
import { underFence } from '../claim/under-fence.ts'

/** Number of messages read, and bytes of them that are told. */
const MESSAGES = 40
const MAX_BYTES = 32 * 1024

/**
 * Returns the last messages before a Run from the log, oldest first, for an agent that cannot load its conversation.
 *
 * @returns null if there are none since the Session began or was reset
 */
export async function readRecap(db: Queryable, key: SessionKey, runId: string | null): Promise<string | null> {
  const { rows } = await db.query<{ role: string; text: string }>({
    text: `
      select envelope::jsonb #>> '{data,role}' as role, envelope::jsonb #>> '{data,text}' as text
      from events
      where organization_id = $1 and session_id = $2 and type = 'svc.message.created'
        and envelope::jsonb #>> '{data,role}' in ('user', 'assistant')
        and ($4::uuid is null or run_id is distinct from $4::uuid)
        and run_id in (
          select t.run_id from sessions s
          join turns t on t.organization_id = s.organization_id and t.session_id = s.id
          where s.organization_id = $1 and s.id = $2 and t.sequence >= s.fresh_from_turn)
      order by sequence desc limit $3`,
    values: [key.organizationId, key.sessionId, MESSAGES, runId],
  })
  if (rows.length === 0) return null
  const told: string[] = []
  let bytes = 0
  for (const { role, text } of rows) {
    const line = `${role}: ${cutText(text, MAX_BYTES / 4).text}`
    bytes += Buffer.byteLength(line)
    if (bytes > MAX_BYTES) break
    told.unshift(line)
  }
  return `Earlier in this conversation, which this process has not seen; the files are as that conversation left them:\n\n${told.join('\n\n')}`
}

/**
 * Reads the recap for an agent process that cannot load its predecessor's conversation. It stores the recap with the
 * lease before the process is asked for anything, so a worker that takes over tells the same.
 */
export async function keepRecap(context: ExecutionContext, claim: RunClaim, leaseId: string): Promise<string | null> {
  const recap = await readRecap(context.db, claim, claim.runId)
  await underFence(context, claim, tx => startAgentFrom(tx, leaseId, { agentSessionId: null, recap }))
  return recap
}
