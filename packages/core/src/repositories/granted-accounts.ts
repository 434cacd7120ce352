import type { Queryable } from '@berth/platform/storage/postgres/database.ts'
import { type AccountFilter, type AccountRow, listAccountRows } from './grant-sql.ts'

/** A repository of an account that an installation was granted. */
export interface GrantedRepository {
  readonly grantId: string
  readonly repositoryId: string
  readonly fullName: string
  readonly status: 'active' | 'revoked' | 'replaced'
}

/** An account of a host that an installation was connected to, with its grants, as operators see it. */
export interface GrantedAccount {
  readonly id: string
  readonly organizationId: string
  readonly installationId: string
  readonly host: string
  readonly provider: string
  readonly account: string
  readonly accountLogin: string
  /** Every repository of the account is granted as soon as it is seen. */
  readonly whole: boolean
  /** Only people whose own account reaches a repository may use it. */
  readonly personal: boolean
  readonly status: 'active' | 'revoked'
  readonly repositories: readonly GrantedRepository[]
}

/** Lists accounts with all that was ever granted of them, oldest first. */
export async function listAccounts(db: Queryable, of: AccountFilter = {}): Promise<GrantedAccount[]> {
  const accounts = Map.groupBy(await listAccountRows(db, of), row => row.id)
  return [...accounts.values()].flatMap(([first, ...more]) => (first === undefined ? [] : [toAccount(first, more)]))
}

function toAccount(first: AccountRow, more: readonly AccountRow[]): GrantedAccount {
  return {
    id: first.id,
    organizationId: first.organization_id,
    installationId: first.installation_id,
    host: first.host,
    provider: first.provider,
    account: first.account,
    accountLogin: first.account_login,
    whole: first.whole,
    personal: first.personal,
    status: first.ended ? 'revoked' : 'active',
    repositories: [first, ...more].flatMap(toRepository),
  }
}

function toRepository({ grant_id, repository_id, full_name, ended, grant_ended, replaced }: AccountRow) {
  if (grant_id === null) return []
  const status = replaced ? 'replaced' : ended || grant_ended ? 'revoked' : 'active'
  return [{ grantId: grant_id, repositoryId: repository_id, fullName: full_name, status } as const]
}
