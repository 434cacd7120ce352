import { existsSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Session } from '@berth/contract'
import type { Queryable } from '@berth/platform/storage/postgres/database.ts'
import { until } from '../until.ts'

/** What names a Session, also one that no operation shows. */
type SessionName = Pick<Session, 'id' | 'organizationId'>

/** Returns the newest lease of a Session. */
export async function leaseOf(db: Queryable, session: SessionName): Promise<string> {
  const lease = await findLease(db, session)
  if (lease === undefined) throw new Error(`session ${session.id} has no lease`)
  return lease
}

async function findLease(db: Queryable, session: SessionName): Promise<string | undefined> {
  const { rows } = await db.query<{ id: string }>(
    'select id from leases where organization_id = $1 and session_id = $2 order by created_at desc limit 1',
    [session.organizationId, session.id],
  )
  return rows[0]?.id
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

/** Makes the file in the workspace that the agent waits for, as soon as the Session has a workspace. */
export async function touch(db: Queryable, dataDir: string, session: SessionName, name: string): Promise<void> {
  await until('a lease', () => findLease(db, session))
  const path = await workspacePath(db, dataDir, session, name)
  await until('the workspace', () => existsSync(dirname(path)))
  await writeFile(path, '')
}
