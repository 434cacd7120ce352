import type { SessionKey } from '../events/append.ts'
import type { Queryable } from '../storage/database.ts'
import { deleteWorkspaceRequest, readWorkspaceRequest, requestWorkspace } from './workspace-request-sql.ts'

/**
 * Asks a worker for the Session's workspace, or learns what became of having asked. The caller holds the Session's lock
 * and has seen that no workspace is attached.
 * @param asked whether this caller has asked before: only then is a failure an answer to it
 * @returns whether the wait is over because a worker has given up
 */
export async function askForWorkspace(
  tx: Queryable,
  key: SessionKey,
  asked: boolean,
  now: Date,
): Promise<'wait' | 'failed'> {
  const request = await readWorkspaceRequest(tx, key)
  if (request === 'failed') {
    await deleteWorkspaceRequest(tx, key)
    if (asked) return 'failed'
  }
  if (request !== 'open') await requestWorkspace(tx, key, now)
  return 'wait'
}
