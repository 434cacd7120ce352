import { randomUUID } from 'node:crypto'
import { StartError } from '@berth/platform/kit/start-error.ts'
import type { Database } from '@berth/platform/storage/postgres/database.ts'
import type { Context } from '../context.ts'
import type { GitHost, HostRepository } from '../git-hosts/git-host.ts'
import { connectAccount } from './connect-account.ts'
import { type Grantee, upsertGrants } from './grant-sql.ts'

/** Repositories asked of a host at once. */
const HOST_PAGE = 100

/** An operator's grant: all repositories of an account, later ones included, or some of them by name. */
export interface AccountGrant {
  readonly account: string
  /** `owner/name` each; empty for the whole account. */
  readonly names: readonly string[]
}

/**
 * Grants an installation repositories of an account, after asking the host which ones it reaches. Idempotent: earlier
 * grants stay, and an account that is granted whole stays so.
 * @returns the connection's id
 * @throws StartError if the account does not reach a name
 * @throws GitHostError
 */
export async function grantAccount(
  { db, clock }: Pick<Context, 'clock'> & { readonly db: Database },
  grantee: Grantee,
  host: GitHost,
  { account, names }: AccountGrant,
): Promise<string> {
  const accountLogin = await host.readAccount(account)
  const reached = await listReached(host, account)
  const granted = names.length === 0 ? reached : names.map(name => findNamed(reached, name))
  const rows = granted.map(({ repositoryId, fullName }) => ({ id: randomUUID(), repositoryId, fullName }))
  return db.transaction(async tx => {
    const to = { host: host.id, provider: host.kind, account, accountLogin }
    const connection = await connectAccount({ db: tx, clock }, grantee, to, names.length === 0)
    await upsertGrants(tx, connection, rows, clock.now())
    return connection.id
  })
}

async function listReached(host: GitHost, account: string): Promise<HostRepository[]> {
  const reached: HostRepository[] = []
  for (let from: string | null = null; ; ) {
    const page = await host.listRepositories(account, { limit: HOST_PAGE, from })
    reached.push(...page.repositories)
    if (page.next === null) return reached
    from = page.next
  }
}

function findNamed(reached: readonly HostRepository[], name: string): HostRepository {
  const found = reached.find(({ fullName }) => fullName.toLowerCase() === name.toLowerCase())
  if (found === undefined) throw new StartError(`the account does not reach ${name}; give it access at the host first`)
  return found
}
