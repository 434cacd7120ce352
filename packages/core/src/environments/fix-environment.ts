import type { EgressPolicy } from '@berth/contract'
import { UnsealError } from '@berth/platform/storage/master-key.ts'
import type { Queryable } from '@berth/platform/storage/postgres/database.ts'
import { readDocument, type StoredDocument } from './document.ts'
import type { EgressRule } from './egress-rule.ts'
import { type EnvironmentKey, findEnvironment, findRevision } from './environment-sql.ts'
import { isKeptFrom } from './policy-rules.ts'
import { listSealed } from './secret-sql.ts'
import { placeOf } from './secrets.ts'

/** The revision that sets a sandbox up. */
export interface FixedEnvironment {
  readonly id: string
  readonly revision: number
  readonly document: StoredDocument
  /** Null if the master key does not open one of them. */
  readonly secrets: readonly FixedSecret[] | null
  /** Names of secrets that the organization keeps for other environments. */
  readonly leftOut: readonly string[]
}

interface FixedSecret {
  readonly name: string
  readonly value: string
  /** Absent: programs get the value. */
  readonly egress?: EgressRule
}

/**
 * Returns the newest revision of an environment with the values of its secrets. One statement reads the revision with
 * its pins, and values outlive their pins by a minute, so a write in between changes nothing. A policy of the
 * organization that came after the secret leaves it out.
 */
export async function fixEnvironment(
  tx: Queryable,
  key: EnvironmentKey,
  policy: EgressPolicy,
): Promise<FixedEnvironment> {
  const found = await findEnvironment(tx, key)
  if (found === null) throw new Error(`there is no environment ${key.environmentId}`)
  const pins = found.secrets.filter(({ name }) => !isKeptFrom(name, found.id, policy))
  const sealed = pins.length === 0 ? [] : await listSealed(tx, key, pins)
  return {
    id: found.id,
    revision: found.revision,
    document: readDocument(found.document, []),
    secrets: sealed.length < pins.length ? null : openAll(tx, key, sealed),
    leftOut: found.secrets.filter(pin => !pins.includes(pin)).map(({ name }) => name),
  }
}

/** Returns the document of a revision. */
export async function readFixedDocument(db: Queryable, key: EnvironmentKey, revision: number): Promise<StoredDocument> {
  const found = await findRevision(db, key, revision)
  if (found === null) throw new Error(`environment ${key.environmentId} has no revision ${revision}`)
  return readDocument(found.document, [])
}

/** What a lease says of the environment by which it was set up. */
interface EnvironmentOfLease {
  readonly organization_id: string
  readonly environment_id: string | null
  readonly environment_revision: number | null
}

/** Returns the document by which a lease was set up; null without an environment. */
export async function documentOfLease(db: Queryable, lease: EnvironmentOfLease): Promise<StoredDocument | null> {
  const { organization_id: organizationId, environment_id: environmentId, environment_revision: revision } = lease
  if (environmentId === null || revision === null) return null
  return readFixedDocument(db, { organizationId, environmentId }, revision)
}

/** The same for a lease that has an environment. */
export async function requireDocumentOfLease(
  db: Queryable,
  lease: EnvironmentOfLease & { readonly id: string },
): Promise<StoredDocument> {
  const document = await documentOfLease(db, lease)
  if (document === null) throw new Error(`lease ${lease.id} has no environment`)
  return document
}

function openAll(
  { masterKey }: Queryable,
  key: EnvironmentKey,
  sealed: Awaited<ReturnType<typeof listSealed>>,
): FixedEnvironment['secrets'] {
  if (sealed.length === 0) return []
  if (masterKey === undefined) throw new Error('cannot open a secret: this process has no master key')
  try {
    return sealed.map(({ name, version, sealed, egress }) => ({
      name,
      value: masterKey.open(sealed, placeOf(key, name, version)).toString(),
      ...(egress !== null && { egress }),
    }))
  } catch (error) {
    if (error instanceof UnsealError) return null
    throw error
  }
}
