import { createHash, randomBytes, randomUUID } from 'node:crypto'
import type { Queryable } from '@berth/platform/storage/postgres/database.ts'
import { insertHost } from './host-sql.ts'

/** What the maker of a token decides on. */
export interface NewHost {
  readonly name: string
  /** Null: it works for every organization. */
  readonly organizationId: string | null
  readonly pool: string
  /** Null: as many sandboxes as the host says. */
  readonly capacity: number | null
  readonly labels: Readonly<Record<string, string>>
}

/** A host that is to dial in. Only its maker ever sees the token. */
export interface AdmittedHost {
  readonly id: string
  readonly token: string
}

/** Admits a host that dials in with a token. The database keeps the token's digest alone. */
export async function admitNewHost(tx: Queryable, host: NewHost): Promise<AdmittedHost> {
  const id = randomUUID()
  const token = `svc_host_${randomBytes(32).toString('base64url')}`
  await insertHost(tx, { id, ...host, tokenSha256: createHash('sha256').update(token).digest() })
  return { id, token }
}
