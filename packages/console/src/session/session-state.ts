import type { Session } from '@berth/client'

/** How a Session appears in lists and headers. */
export interface SessionState {
  readonly label: string
  readonly tone: 'attention' | 'active' | 'quiet' | 'bad'
}

/** Facts of the live feed about a Session: Interactions that wait for people. */
export interface Attention {
  readonly openInteractions: number
}

const phases: Readonly<Record<Session['phase'], SessionState>> = {
  idle: { label: 'Idle', tone: 'quiet' },
  queued: { label: 'Queued', tone: 'active' },
  provisioning: { label: 'Starting', tone: 'active' },
  running: { label: 'Working', tone: 'active' },
  awaiting: { label: 'Waiting for you', tone: 'attention' },
  finalizing: { label: 'Saving', tone: 'active' },
}

/** Returns a Session's state. An open approval needs a person although the Run goes on. */
export function stateOf(
  session: Pick<Session, 'phase' | 'archivedAt' | 'continuation'>,
  attention?: Attention,
): SessionState {
  if (session.archivedAt !== undefined) return { label: 'Archived', tone: 'quiet' }
  if ((attention?.openInteractions ?? 0) > 0) return phases.awaiting
  if (session.continuation.reason === 'checkpoint_missing') {
    return { label: 'Work lost', tone: 'bad' }
  }
  return phases[session.phase] ?? phases.idle
}

type Reason = NonNullable<Session['continuation']['reason']>

/** Returns the state that the next Turn will not continue, for a warning before it is sent; null if there is none. */
export const continuationNotes: Readonly<Record<Reason, string | null>> = {
  no_prior_work: null,
  session_archived: 'This Session is archived. It stays readable, and cannot be continued.',
  checkpoint_missing:
    'The last Run left no complete copy of its work. Reset the Session to go on from where it began, without that work.',
  checkpoint_incompatible:
    'The saved work was written by a version of Berth that this one cannot read. Start a new Session to go on.',
  source_unavailable:
    'The repository of this Session can no longer be reached. An administrator can restore the grant, or start a new Session.',
}
