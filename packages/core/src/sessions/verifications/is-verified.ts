import type { SessionKey } from '@berth/platform/kit/session-key.ts'
import type { Queryable } from '@berth/platform/storage/postgres/database.ts'
import { readStored } from '../../environments/document.ts'
import { findEnvironment } from '../../environments/environment-sql.ts'
import { findResultOf, listOpenRevisions } from './verification-sql.ts'

/** How a revision stands to the checks of its Session's environment. */
export interface VerifiedState {
  /** Whether the environment's newest revision lets verified revisions out alone. */
  readonly required: boolean
  /** Whether the newest result by that revision of the environment is that it has passed. */
  readonly verified: boolean
  /** The verification by which it is. */
  readonly verificationId: string | null
  /** Whether a verification of it has not ended. */
  readonly open: boolean
}

const unchecked = { required: false, verified: false, verificationId: null } as const

/** Judges a revision of a Session by its verifications. A result by an earlier revision of the environment does not count. */
export async function verifiedState(
  db: Queryable,
  key: SessionKey,
  environmentId: string | null,
  revision: string,
): Promise<VerifiedState> {
  const open = (await listOpenRevisions(db, key)).includes(revision)
  if (environmentId === null) return { ...unchecked, open }
  const environment = await findEnvironment(db, { organizationId: key.organizationId, environmentId })
  if (environment === null) return { ...unchecked, open }
  const by = { revision, environment_id: environmentId, environment_revision: environment.revision }
  const result = await findResultOf(db, key, by)
  const verificationId = result?.state === 'passed' ? result.id : null
  const required = readStored(environment.document).requireVerified
  return { required, verified: verificationId !== null, verificationId, open }
}
