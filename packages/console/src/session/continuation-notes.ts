import type { Session } from '@berth/client'

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
