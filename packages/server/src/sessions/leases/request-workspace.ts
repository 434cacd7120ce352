import type { SessionKey } from '../../kit/session-key.ts'
import type { Queryable } from '../../storage/postgres/database.ts'
import { deleteWorkspaceRequest, readWorkspaceRequest, requestWorkspace } from './workspace-request-sql.ts'

/**
 * Asks a worker for the Session's workspace, or reports that the worker has failed. The caller holds the Session's lock
 * and has seen that no workspace is attached.
 * @param asked true if this caller has asked before: only then does a failure answer its request
 * @returns `failed` if a worker has given up, so the wait is over
 */
export async function askForWorkspace(
  tx: Queryable,
  key: SessionKey,
  asked: boolean,
  now: Date,
): Promise<'asked' | 'failed'> {
  const request = await readWorkspaceRequest(tx, key)
  // Kept for the other callers who have asked; the next new caller starts a new request.
  if (request === 'failed' && asked) return 'failed'
  if (request === 'failed') await deleteWorkspaceRequest(tx, key)
  if (request !== 'open') await requestWorkspace(tx, key, now)
  return 'asked'
}
