import type { InteractionRow } from './interaction.ts'

/** How long `allow_once` lets further connections to its host through after the first one: programs open several. */
const ONCE_MS = 60_000

/** The newest approval of a Run about a host and port, as far as it decides about the next connection. */
export type LastQuestion = Pick<
  InteractionRow,
  'id' | 'status' | 'resolution' | 'deadline' | 'delivered_at' | 'decided_by_kind' | 'lease_id'
>

/** How a connection to a host stands that the environment does not name. */
export type HostState =
  /** `unused` names a decision for once that no connection has used yet. */
  | { readonly kind: 'allowed'; readonly unused: string | null }
  | { readonly kind: 'refused'; readonly reason: 'denied' | 'timed_out' }
  | { readonly kind: 'open'; readonly id: string; readonly deadline: Date | null }
  | { readonly kind: 'unasked' }

/**
 * Decides about a connection by what was decided before. A host that was allowed for the environment is allowed, also if
 * somebody had denied it for the Turn. A refusal holds for the Turn, so that a program which tries again does not ask again.
 *
 *     unasked ── ask ──▶ open ── allow_turn, allow_chat, allow_project ──▶ allowed
 *        ▲                 ├── allow_once ──▶ allowed ── a minute after its first connection ──┐
 *        │                 └── deny, deadline ──▶ refused                                      │
 *        └─────────────────────────────────────────────────────────────────────────────────────┘
 */
export function hostState(isAllowedForEnvironment: boolean, last: LastQuestion | null, now: Date): HostState {
  if (isAllowedForEnvironment) return { kind: 'allowed', unused: null }
  if (last === null) return { kind: 'unasked' }
  if (last.status === 'open') return { kind: 'open', id: last.id, deadline: last.deadline }
  switch (last.resolution) {
    case 'turn_allowed':
    case 'always_allowed':
      return { kind: 'allowed', unused: null }
    case 'project_allowed':
      // A person's counts as long as the environment has it; a rule of the operator's for the whole Run.
      return last.decided_by_kind === null ? { kind: 'allowed', unused: null } : { kind: 'unasked' }
    case 'approved': {
      const isUsedUp = last.delivered_at !== null && now.getTime() - last.delivered_at.getTime() >= ONCE_MS
      return isUsedUp ? { kind: 'unasked' } : { kind: 'allowed', unused: last.delivered_at === null ? last.id : null }
    }
    case 'denied':
    case 'timed_out':
      return { kind: 'refused', reason: last.resolution }
    default:
      return { kind: 'unasked' }
  }
}
