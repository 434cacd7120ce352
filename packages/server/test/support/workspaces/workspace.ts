import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Session } from '@berth/contract'
import type { Queryable } from '../../../src/storage/postgres/database.ts'

/** What names a Session, also one that no operation shows. */
type SessionName = Pick<Session, 'id' | 'organizationId'>

/** Returns the newest lease of a Session. */
export async function leaseOf(db: Queryable, session: SessionName): Promise<string> {
  const { rows } = await db.query<{ id: string }>(
    'select id from leases where organization_id = $1 and session_id = $2 order by created_at desc limit 1',
    [session.organizationId, session.id],
  )
  const lease = rows[0]
  if (lease === undefined) throw new Error(`session ${session.id} has no lease`)
  return lease.id
}

/** Returns the directory on this host with the files of a sandbox. */
export const leaseDirectory = (dataDir: string, leaseId: string) => join(dataDir, 'leases', leaseId)

/** Returns the path on this host of a file in a Session's workspace. */
export async function workspacePath(
  db: Queryable,
  dataDir: string,
  session: SessionName,
  name: string,
): Promise<string> {
  return join(leaseDirectory(dataDir, await leaseOf(db, session)), 'disk/files/workspace', name)
}

/** Makes the file in the workspace that the agent waits for. */
export async function touch(db: Queryable, dataDir: string, session: SessionName, name: string): Promise<void> {
  await writeFile(await workspacePath(db, dataDir, session, name), '')
}
