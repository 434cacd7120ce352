import type { SessionState } from '@berth/contract'

const asks: Readonly<Record<NonNullable<SessionState['attention']>['kind'], string>> = {
  approval: 'Asks to be allowed',
  ask_user: 'Asks a question',
  exit_plan_mode: 'Has a plan',
}

const ends: Readonly<Record<string, string>> = { failed: 'Has failed', stopped: 'Has stopped' }

const isOpen = ({ status }: SessionState) => status === 'needs_you' || status === 'working'

/**
 * Returns the notification of a change for a person in another tab; null if it is not worth one, or not their Session.
 *
 * @param before the state that the page knew, if any
 */
export function noticeOf(before: SessionState | undefined, after: SessionState): string | null {
  // Only Sessions that the person started, opened or pinned are theirs.
  if (after.archived || (!after.unread && !after.pinned)) return null
  const { attention } = after
  if (attention !== null) {
    return attention.openInteractions > (before?.attention?.openInteractions ?? 0) ? asks[attention.kind] : null
  }
  if (after.workLost) return before?.workLost === false ? 'Has lost its work' : null
  const hasEnded = before !== undefined && isOpen(before) && !isOpen(after)
  return hasEnded ? (ends[after.status] ?? 'Has finished') : null
}
