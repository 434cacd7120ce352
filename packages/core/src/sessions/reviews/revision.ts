import { createHash } from 'node:crypto'
import type { SessionKey } from '@berth/platform/kit/session-key.ts'

/** The identity of a review beside its Session. */
export interface Reviewed {
  readonly baseOid: string
  readonly headTree: string
  readonly targetBranch: string
}

/** Returns the revision of a review: a pure function of Session, base, tree and target. */
export function revisionOf(key: SessionKey, { baseOid, headTree, targetBranch }: Reviewed): string {
  const identity = ['review', key.organizationId, key.sessionId, baseOid, headTree, targetBranch]
  return createHash('sha256').update(JSON.stringify(identity)).digest('hex')
}
