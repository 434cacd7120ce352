import type { EnvironmentNetwork } from '@berth/contract'
import type { Queryable } from '@berth/platform/storage/postgres/database.ts'
import { documentOfLease } from './fix-environment.ts'

/** Which hosts the sandbox of a lease reaches, within what the operator opens. */
export interface LeaseNetwork extends EnvironmentNetwork {
  /** Null without an environment. */
  readonly environment: { readonly id: string; readonly name: string } | null
  /** Hosts that stay closed whatever else says otherwise, an approval too: the organization's policy as the lease began. */
  readonly never: readonly string[]
}

/** What a lease says of its network. */
interface LeaseOfNetwork {
  readonly organization_id: string
  readonly environment_id: string | null
  readonly environment_revision: number | null
  readonly never_hosts: readonly string[]
}

/** Returns the network of a lease: that of its environment, or an open one without an environment. */
export async function networkOfLease(db: Queryable, lease: LeaseOfNetwork): Promise<LeaseNetwork> {
  const document = await documentOfLease(db, lease)
  const { mode, hosts } = document?.network ?? { mode: 'open', hosts: [] }
  const { environment_id: id, never_hosts: never } = lease
  return { environment: document === null || id === null ? null : { id, name: document.name }, mode, hosts, never }
}
