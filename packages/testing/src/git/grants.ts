import { randomUUID } from 'node:crypto'
import { connectAccount, type HostAccount } from '@berth/core/repositories/connect-account.ts'
import { type Grantee, upsertGrants } from '@berth/core/repositories/grant-sql.ts'
import { systemClock } from '@berth/platform/kit/clock.ts'
import type { Queryable } from '@berth/platform/storage/postgres/database.ts'

/** Grants one repository of an account to an installation, without asking its host. */
export async function grantRepository(
  db: Queryable,
  grantee: Grantee,
  account: HostAccount,
  repository: { readonly repositoryId: string; readonly fullName: string },
): Promise<{ readonly id: string }> {
  const connection = await connectAccount({ db, clock: systemClock }, grantee, account, false)
  const id = randomUUID()
  await upsertGrants(db, connection, [{ id, ...repository }], systemClock.now())
  return { id }
}
