import { readDocument } from '../../environments/document.ts'
import { findEnvironment } from '../../environments/environment-sql.ts'
import type { SessionKey } from '../../kit/session-key.ts'
import type { SessionRow } from '../../sessions/session/session.ts'
import type { Queryable } from '../../storage/postgres/database.ts'
import type { GitSettings } from '../claim/git-access.ts'

const none: GitSettings = { github: false, repositories: [] }

/** Returns what the environment of a Session says about Git hosts. */
export async function gitSettings(
  db: Queryable,
  { organizationId }: SessionKey,
  session: SessionRow | null,
): Promise<GitSettings> {
  const environmentId = session?.environment_id ?? null
  if (environmentId === null) return none
  const environment = await findEnvironment(db, { organizationId, environmentId })
  return environment === null ? none : readDocument(environment.document, [])
}
