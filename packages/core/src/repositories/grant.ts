import type { RepositoryGrant } from '@berth/contract'

/** An account of a host that an installation may use. */
export interface ConnectionRow {
  readonly id: string
  readonly organization_id: string
  readonly installation_id: string
  /** Id of a `GitHost`. */
  readonly host: string
  readonly provider: string
  readonly account: string
  readonly account_login: string
  /** True if every repository of the account is granted as soon as it is seen; else only the named ones are. */
  readonly whole: boolean
  /** Only people whose own account reaches a repository may use it. */
  readonly personal: boolean
}

/** A grant with its connection. */
export interface GrantRow {
  readonly id: string
  readonly host: string
  readonly provider: string
  readonly account: string
  readonly account_login: string
  readonly personal: boolean
  readonly repository_id: string
  readonly full_name: string
  readonly created_at: Date
  /** Its own end, or that of its connection or installation. */
  readonly revoked_at: Date | null
  readonly replaced_by: string | null
}

/** Returns the grant as the API shows it. */
export function toGrant(row: GrantRow): RepositoryGrant {
  return {
    id: row.id,
    provider: row.provider,
    accountLogin: row.account_login,
    repositoryId: row.repository_id,
    fullName: row.full_name,
    status: row.replaced_by !== null ? 'replaced' : row.revoked_at !== null ? 'revoked' : 'active',
    createdAt: row.created_at.toISOString(),
  }
}
