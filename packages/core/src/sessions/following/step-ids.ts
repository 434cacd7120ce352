import { digestId } from '@berth/platform/kit/uuid.ts'
import type { FollowUpRow } from '../follow-ups/follow-up.ts'

type Named = Pick<FollowUpRow, 'organization_id' | 'session_id' | 'publication_id' | 'round'>

/** Returns the id of a step of a follow-up: always the same one for the same step, so whoever repeats it finds it done. */
function stepId(kind: string, { organization_id, session_id, publication_id, round }: Named, of: string): string {
  return digestId(JSON.stringify(['follow-up', kind, organization_id, session_id, publication_id, round, of]))
}

/** Returns the id of the Turn of an event of the pull request. */
export const turnIdOf = (row: Named, key: string): string => stepId('turn', row, key)

/** Returns the id of the Publication of a Turn's work. */
export const publicationIdOf = (row: Named, turnId: string): string => stepId('publication', row, turnId)

/** Returns the id of the verification of a revision, before it is published. */
export const verificationIdOf = (row: Named, revision: string): string => stepId('verification', row, revision)

/** Returns the id of the Merge of a head. */
export const mergeIdOf = (row: Named, head: string): string => stepId('merge', row, head)

/** Returns the hidden words with which a comment begins: whoever writes it again finds it by them. */
export const markerOf = (row: Named, kind: 'answer' | 'end', of = ''): string =>
  `<!-- berth:follow-up ${kind} ${stepId(kind, row, of)} -->`
