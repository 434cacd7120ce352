import type { Effort } from '@berth/contract'
import type { SessionKey } from '@berth/platform/kit/session-key.ts'
import { type Queryable, queryAny, queryRow } from '@berth/platform/storage/postgres/database.ts'
import type { Reading } from '../agent/agent-conversation.ts'
import type { LastAnswer } from '../agent/transcript.ts'
import type { Claim, RunClaim } from './claim.ts'

/**
 * Commits the journal's offset and the facts about the agent at that offset. If the log grew, it also charges the Run's
 * budget of Events. If tool calls began or ended, it counts the attempt's calls, which decide if the Run may be started
 * again. It also stores the open calls, for a later end of the Run without its agent.
 */
export async function saveReading(
  tx: Queryable,
  claim: Claim,
  leaseId: string,
  reading: Reading,
  spent: Spent,
): Promise<void> {
  const { facts, openCalls, dropped } = reading
  const counts = openCalls !== null || spent.events > 0 || dropped > 0
  const calls = counts
    ? [
        claim.organizationId,
        claim.sessionId,
        claim.runId,
        reading.toolCalls,
        openCalls === null ? null : JSON.stringify(openCalls),
        spent.events,
        spent.bytes,
        dropped,
      ]
    : []
  await tx.query({
    name: counts ? 'save-reading-and-run' : 'save-reading',
    text: `
      ${counts ? countOnRun : ''}
      update leases set journal_offset = $2, replay_from = $3, agent_generation = $4, agent_state = $5,
        agent_loads_sessions = $6, agent_session_id = $7, active_prompt = $8,
        recap = case when $9 then null else recap end, agent_mcp = $10
      where id = $1`,
    values: [
      leaseId,
      reading.offset,
      reading.replayFrom,
      facts.generation,
      facts.state,
      facts.loadsSessions,
      facts.sessionId,
      facts.activePrompt,
      reading.prompted,
      facts.mcp,
      ...calls,
    ],
  })
}

const countOnRun = `
      with counted as (
        update runs set tool_calls = tool_calls + $14, open_calls = coalesce($15::jsonb, open_calls),
          event_count = event_count + $16, event_bytes = event_bytes + $17, dropped_events = dropped_events + $18
        where organization_id = $11 and session_id = $12 and id = $13
      )`

/**
 * Stores the model and the effort for the agent's next process. Call it before that process starts, so that the journal never precedes
 * the row.
 */
export async function saveAgentModel(
  tx: Queryable,
  leaseId: string,
  { model, effort }: { readonly model: string | null; readonly effort: Effort | null },
): Promise<void> {
  await tx.query({
    name: 'save-agent-model',
    text: 'update leases set agent_model = $2, agent_effort = $3 where id = $1',
    values: [leaseId, model, effort],
  })
}

/** Resets the count of handovers, because this worker makes progress. */
export async function clearHandovers(tx: Queryable, claim: RunClaim): Promise<void> {
  await tx.query({
    text: 'update runs set handovers = 0 where organization_id = $1 and session_id = $2 and id = $3',
    values: [claim.organizationId, claim.sessionId, claim.runId],
  })
}

/**
 * Returns the assistant's last message in the log since the attempt began, by the log's primary key; null if there is
 * none. For a truncated message only the stored size is known.
 */
export async function findLastAnswer(db: Queryable, key: SessionKey, runId: string): Promise<LastAnswer | null> {
  const last = await queryRow<{ text: string; truncated: string | null }>(db, {
    text: `
      select envelope::jsonb #>> '{data,text}' as text, envelope::jsonb #>> '{data,truncated}' as truncated
      from events
      where organization_id = $1 and session_id = $2 and run_id = $3 and type = 'svc.message.created'
        and envelope::jsonb #>> '{data,role}' = 'assistant'
        and sequence > (
          select coalesce(max(sequence), 0) from events
          where organization_id = $1 and session_id = $2 and run_id = $3 and type = 'svc.run.started')
      order by sequence desc limit 1`,
    values: [key.organizationId, key.sessionId, runId],
  })
  if (last === null) return null
  return last.truncated === null ? last.text : { sizeBytes: Buffer.byteLength(last.text) }
}

/**
 * Returns true if the log says of an answer since the attempt began that it is not the output that was asked for, by the
 * log's primary key.
 */
export async function hasRejectedOutput(db: Queryable, key: SessionKey, runId: string): Promise<boolean> {
  return await queryAny(db, {
    text: `
      select 1 from events
      where organization_id = $1 and session_id = $2 and run_id = $3 and type = 'svc.output.rejected'
        and sequence > (
          select coalesce(max(sequence), 0) from events
          where organization_id = $1 and session_id = $2 and run_id = $3 and type = 'svc.run.started')
      limit 1`,
    values: [key.organizationId, key.sessionId, runId],
  })
}

/** Events that a transaction has appended for an agent, and their bytes. */
export interface Spent {
  readonly events: number
  readonly bytes: number
}
