import type { SessionKey } from '../../kit/session-key.ts'
import type { Queryable } from '../../storage/postgres/database.ts'
import {
  deleteWorkspaceRequest,
  readWorkspaceRequest,
  requestWorkspace,
  workspaceIsBeingMade,
} from './workspace-request-sql.ts'

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
): Promise<'asked' | 'failed'> {
  const request = await readWorkspaceRequest(tx, key)
  // Left where it is for others who have asked; whoever asks next begins anew.
  if (request === 'failed' && asked) return 'failed'
  if (request === 'failed') await deleteWorkspaceRequest(tx, key)
  if (request !== 'open') await requestWorkspace(tx, key, now)
  return 'asked'
}

/** Whether a worker has taken the request up, which tells one that takes long from one that nobody hears. */
export function isWorkspaceBeingMade(db: Queryable, key: SessionKey): Promise<boolean> {
  return workspaceIsBeingMade(db, key)
}

/** Takes back whatever was asked for: the Session has no use for a workspace any more. */
export async function withdrawWorkspaceRequest(tx: Queryable, key: SessionKey): Promise<void> {
  await deleteWorkspaceRequest(tx, key)
}
