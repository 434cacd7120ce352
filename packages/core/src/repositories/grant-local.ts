import type { Queryable } from '@berth/platform/storage/postgres/database.ts'
import type { Context } from '../context.ts'
import { LOCAL_ACCOUNT, LOCAL_HOST } from '../git-hosts/local/local-host.ts'
import { connectAccount } from './connect-account.ts'
import type { Grantee } from './grant-sql.ts'

/** Grants an installation every repository of the data directory, later ones included. */
export async function grantLocal(
  context: Pick<Context, 'clock'> & { readonly db: Queryable },
  grantee: Grantee,
): Promise<void> {
  const account = { host: LOCAL_HOST, provider: 'local', account: LOCAL_ACCOUNT, accountLogin: LOCAL_ACCOUNT }
  await connectAccount(context, grantee, account, true)
}
