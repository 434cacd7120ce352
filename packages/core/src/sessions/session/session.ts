import {
  type Background,
  type Continuation,
  type Effort,
  limits,
  type Plan,
  type Session,
  type SessionStatus,
  type Source,
} from '@berth/contract'
import { NATIVE_RUNTIME, type RuntimeCatalog } from '../../runtimes/catalog.ts'
import { phaseOf, type RunStatus } from './phase.ts'

/** A Session's row with the rows that its resource is derived from: the active Run and the newest lease. */
export interface SessionRow {
  readonly organization_id: string
  readonly id: string
  readonly owner_kind: 'app_installation' | 'person'
  readonly owner_id: string
  /** The person who asked for a Session that the service's own installation owns. */
  readonly initiated_by: string | null
  readonly request_hash: Buffer
  /** It only holds the sandbox in which an environment is tried. */
  readonly is_trial: boolean
  /** The trigger that made it; null: none did. */
  readonly trigger_id: string | null
  readonly title: string
  /** It was made of the first message; the agent may give a better one. */
  readonly title_is_derived: boolean
  readonly origin: Record<string, string> | null
  readonly source: Source | null
  /** When the host refused the source to a restore. */
  readonly source_lost_at: Date | null
  readonly model: string | null
  readonly effort: Effort | null
  readonly runtime: string | null
  readonly environment_id: string | null
  readonly environment_name: string | null
  /** The revision applied last; null before the first. */
  readonly environment_revision: number | null
  readonly budget_usd: number | null
  readonly budget_spent_usd: number | null
  readonly turn_count: number
  readonly last_event_sequence: number
  readonly first_run_started_at: Date | null
  /** The Session and the Run that it was forked from. */
  readonly parent_session_id: string | null
  readonly parent_run_id: string | null
  readonly created_at: Date
  readonly updated_at: Date
  readonly archived_at: Date | null
  readonly active_run_id: string | null
  readonly active_run_status: RunStatus | null
  /** Deadline of the held lease, or the past one of the newest lease that was ever attached. */
  readonly lease_expires_at: Date | null
  readonly lease_held: boolean
  readonly lease_id: string | null
  /** Idle time of the newest lease; null if there was none. */
  readonly lease_idle_ms: number | null
  /** Its newest Run has ended and a worker is sealing it. */
  readonly finalizing: boolean
  readonly status: SessionStatus
  readonly last_run: Session['lastRun']
  readonly changes: Session['changes']
  readonly plan: Plan | null
  readonly background: { readonly leaseId: string; readonly commands: Background; readonly truncated?: true } | null
  /** Checkpoint of the newest Run that did not crash; read only if no lease is held. */
  readonly checkpoint_run_id: string | null
  readonly checkpoint_runtime: string | null
  readonly checkpoint_conversation: 'exact' | 'result_only' | null
  readonly checkpoint_damaged: boolean | null
}

/** The parts of the deployment that a Session's resource depends on. */
export interface SessionSurroundings {
  readonly consoleUrl: string
  readonly runtimes: Pick<RuntimeCatalog, 'find'>
}

/** Returns the Session resource as lists have it: without what only its own page shows. */
export function toListedSession(row: SessionRow, surroundings: SessionSurroundings): Session {
  const { plan: _plan, background: _commands, backgroundTruncated: _cut, ...listed } = toSession(row, surroundings)
  return listed
}

/** Returns the Session resource. */
export function toSession(row: SessionRow, surroundings: SessionSurroundings): Session {
  const background = row.lease_held && row.background?.leaseId === row.lease_id ? row.background : null
  return {
    id: row.id,
    sessionUrl: `${surroundings.consoleUrl}/sessions/${row.id}`,
    organizationId: row.organization_id,
    title: row.title,
    ...(row.origin !== null && { origin: row.origin }),
    ...(row.source !== null && { source: row.source }),
    ...(row.model !== null && { model: row.model }),
    effort: row.effort,
    ...(row.runtime !== null && { runtime: row.runtime }),
    workspace: {
      state: row.lease_held ? 'attached' : row.lease_expires_at === null ? 'unavailable' : 'expired',
      expiresAt: row.lease_expires_at?.toISOString() ?? null,
    },
    continuation: continuationOfSession(row, surroundings),
    phase: phaseOf(row.active_run_status, row.finalizing),
    status: row.status,
    lastRun: row.last_run,
    changes: row.changes,
    plan: row.plan,
    background: background?.commands ?? [],
    ...(background?.truncated === true && { backgroundTruncated: true }),
    createdBy: { kind: row.owner_kind, id: row.owner_id },
    ...(row.initiated_by !== null && { initiatedBy: { kind: 'person', id: row.initiated_by } }),
    ...(row.active_run_id !== null && { activeRunId: row.active_run_id }),
    createdAt: row.created_at.toISOString(),
    updatedAt: row.updated_at.toISOString(),
    lastEventSequence: row.last_event_sequence,
    ...(row.archived_at !== null && { archivedAt: row.archived_at.toISOString() }),
    environment: environmentOf(row),
    budget: row.budget_usd === null ? null : { costUsd: row.budget_usd, spentUsd: row.budget_spent_usd ?? 0 },
    parent: parentOf(row),
  }
}

function parentOf({ parent_session_id: sessionId, parent_run_id: runId }: SessionRow): Session['parent'] {
  return sessionId === null || runId === null ? null : { sessionId, runId }
}

function environmentOf({ environment_id, environment_name, environment_revision }: SessionRow): Session['environment'] {
  if (environment_id === null || environment_name === null) return null
  return { id: environment_id, name: environment_name, revision: environment_revision }
}

/** Returns the title of a fork that brings none. */
export const titleOfFork = (title: string): string => [...`Fork of ${title}`].slice(0, limits.titleCharacters).join('')

/** Returns which earlier work the next Turn of the Session would continue. */
export function continuationOfSession(row: SessionRow, { runtimes }: SessionSurroundings): Continuation {
  return continuationOf({
    archived: row.archived_at !== null,
    hasRun: row.first_run_started_at !== null,
    leaseHeld: row.lease_held,
    sourceLost: row.source_lost_at !== null,
    checkpoint: checkpointOf(row, runtimes),
  })
}

function checkpointOf(row: SessionRow, runtimes: SessionSurroundings['runtimes']): CheckpointFacts | null {
  if (row.checkpoint_run_id === null || row.checkpoint_conversation === null) return null
  return {
    runId: row.checkpoint_run_id,
    conversation: row.checkpoint_conversation,
    damaged: row.checkpoint_damaged === true,
    loadable: runtimes.find(row.checkpoint_runtime ?? NATIVE_RUNTIME) !== null,
  }
}

/** Facts about the checkpoint of the newest Run that did not crash. */
export interface CheckpointFacts {
  readonly runId: string
  readonly conversation: 'exact' | 'result_only'
  /** One of its digests did not match. */
  readonly damaged: boolean
  /** This deployment still has the runtime that sealed it. */
  readonly loadable: boolean
}

/** Facts that decide if a next Turn is admitted and which work it continues. */
export interface ContinuationFacts {
  readonly archived: boolean
  /** At least one Run has reached `running`. */
  readonly hasRun: boolean
  readonly leaseHeld: boolean
  /** The host no longer gives the repository, and a restore needs it. */
  readonly sourceLost: boolean
  readonly checkpoint: CheckpointFacts | null
}

/**
 * Returns the `continuation` of a Session. The first line that matches decides, in the order of docs/concepts.md,
 * Sessions. `reason` is present exactly when the next Turn will not continue earlier work.
 */
export function continuationOf({
  archived,
  hasRun,
  leaseHeld,
  sourceLost,
  checkpoint,
}: ContinuationFacts): Continuation {
  if (archived) return unavailable('session_archived')
  if (!hasRun) return { canContinue: true, state: 'fresh', ...nothing, reason: 'no_prior_work' }
  if (leaseHeld) {
    return { canContinue: true, state: 'live', conversation: { fidelity: 'live' }, workspace: { fidelity: 'live' } }
  }
  if (checkpoint === null || checkpoint.damaged) return unavailable('checkpoint_missing')
  if (!checkpoint.loadable) return unavailable('checkpoint_incompatible')
  if (sourceLost) return unavailable('source_unavailable')
  return {
    canContinue: true,
    state: 'restorable',
    conversation: { fidelity: checkpoint.conversation },
    workspace: { fidelity: 'portable_tree' },
    sealedByRunId: checkpoint.runId,
  }
}

const nothing = { conversation: { fidelity: 'none' }, workspace: { fidelity: 'none' } } as const

function unavailable(reason: NonNullable<Continuation['reason']>): Continuation {
  return { canContinue: false, state: 'unavailable', ...nothing, reason }
}
