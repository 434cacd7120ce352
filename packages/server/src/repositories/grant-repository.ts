import { randomUUID } from 'node:crypto'
import type { Context } from '../context.ts'
import { hopeForSources } from '../sessions/lost-source.ts'
import type { Queryable } from '../storage/database.ts'
import type { ConnectionRow, GrantRow } from './grant.ts'
import { endGrant, findGrantOf, type Grantee, insertConnection, upsertGrants } from './grant-sql.ts'

/** An account of a host, by what the host calls it. */
export interface HostAccount {
  readonly host: string
  /** Kind of the host (interface 2.3, `source.kind`). */
  readonly provider: string
  readonly account: string
  readonly accountLogin: string
}

type Granting = Pick<Context, 'clock'> & { readonly db: Queryable }

/**
 * Connects an installation to an account of a host. Idempotent.
 * @param whole whether that grants every repository of the account
 */
export async function connectAccount(
  { db, clock }: Granting,
  { organizationId, installationId }: Grantee,
  { host, provider, account, accountLogin }: HostAccount,
  whole: boolean,
): Promise<ConnectionRow> {
  const row: ConnectionRow = {
    id: randomUUID(),
    organization_id: organizationId,
    installation_id: installationId,
    host,
    provider,
    account,
    account_login: accountLogin,
    whole,
  }
  const connection = await insertConnection(db, row, clock.now())
  await hopeForSources(db, installationId)
  return connection
}

/** Grants one repository of an account to an installation. Idempotent: a grant that stands is answered. */
export async function grantRepository(
  context: Granting,
  grantee: Grantee,
  account: HostAccount,
  repository: { readonly repositoryId: string; readonly fullName: string },
): Promise<GrantRow> {
  const connection = await connectAccount(context, grantee, account, false)
  await upsertGrants(context.db, connection, [{ id: randomUUID(), ...repository }], context.clock.now())
  const grant = await findGrantOf(context.db, grantee, { host: account.host, repositoryId: repository.repositoryId })
  if (grant === null) throw new Error('a grant was neither made nor found')
  return grant
}

/** Ends a grant. @returns whether it was active */
export function revokeGrant({ db, clock }: Granting, grantee: Grantee, grantId: string): Promise<boolean> {
  return endGrant(db, grantee, grantId, { revokedAt: clock.now() })
}

/**
 * Has another grant stand in for one, as when a repository moves to another account: Sessions that were made under the
 * old one go on under the new. @returns whether it was active
 */
export async function replaceGrant({ db }: Granting, grantee: Grantee, grantId: string, by: string): Promise<boolean> {
  const replaced = await endGrant(db, grantee, grantId, { replacedBy: by })
  await hopeForSources(db, grantee.installationId)
  return replaced
}
