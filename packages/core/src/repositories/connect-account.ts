import { randomUUID } from 'node:crypto'
import type { Queryable } from '@berth/platform/storage/postgres/database.ts'
import type { Context } from '../context.ts'
import type { ConnectionRow } from './grant.ts'
import { type Grantee, insertConnection } from './grant-sql.ts'
import { retryLostSources } from './lost-source.ts'

/** An account of a host, by the host's own names. */
export interface HostAccount {
  readonly host: string
  /** Kind of the host, as in `source.kind`. */
  readonly provider: string
  readonly account: string
  readonly accountLogin: string
}

/**
 * Connects an installation to an account of a host; idempotent.
 * @param whole true to grant every repository of the account
 */
export async function connectAccount(
  { db, clock }: Pick<Context, 'clock'> & { readonly db: Queryable },
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
    personal: false,
  }
  const connection = await insertConnection(db, row, clock.now())
  await retryLostSources(db, installationId)
  return connection
}
