import { randomUUID } from 'node:crypto'
import type { Clock } from '@berth/platform/kit/clock.ts'
import { refusal } from '@berth/platform/kit/refusal.ts'
import type { Queryable } from '@berth/platform/storage/postgres/database.ts'
import { connectAccount } from '../../repositories/connect-account.ts'
import { type Grantee, upsertGrants } from '../../repositories/grant-sql.ts'
import { listAccounts } from '../../repositories/granted-accounts.ts'

/**
 * Connects an installation to an account that another installation of its organization reaches, and grants it the same
 * repositories. The accounts of a deployment's App belong to many organizations, and anybody can guess an id of one. So
 * only an operator connects the first installation of an organization.
 * @returns the connection's id
 * @throws ApiError 403 `cloud_repository_grant_required` if no live installation of the organization reaches the account
 */
export async function shareAccount(
  { db, clock }: { readonly db: Queryable; readonly clock: Clock },
  grantee: Grantee,
  wanted: { readonly host: string; readonly account: string },
): Promise<string> {
  const { organizationId } = grantee
  const reached = (await listAccounts(db, { organizationId })).filter(
    ({ status, host, account }) => status === 'active' && host === wanted.host && account === wanted.account,
  )
  const [first] = reached
  if (first === undefined) throw refusal('cloud_repository_grant_required')
  const whole = reached.some(account => account.whole)
  const connection = await connectAccount({ db, clock }, grantee, first, whole)
  const granted = reached.flatMap(({ repositories }) => repositories.filter(({ status }) => status === 'active'))
  const rows = new Map(granted.map(({ repositoryId, fullName }) => [repositoryId, fullName]))
  await upsertGrants(
    db,
    connection,
    [...rows].map(([repositoryId, fullName]) => ({ id: randomUUID(), repositoryId, fullName })),
    clock.now(),
  )
  return connection.id
}
