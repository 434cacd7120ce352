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

export const modelNote = 'No model is configured, so this agent cannot work yet.'

/** Returns the one note that is shown: a fault that no model would mend comes before the missing model. */
export const noteOf = (reason: Reason | undefined, lacksModel: boolean): string | null =>
  (reason === undefined ? null : continuationNotes[reason]) ?? (lacksModel ? modelNote : null)
