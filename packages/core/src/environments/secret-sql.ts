import { type Queryable, queryChanged, queryRows } from '@berth/platform/storage/postgres/database.ts'
import type { EgressRule } from './egress-rule.ts'
import type { EnvironmentKey } from './environment-sql.ts'

/** Ends the current version of a secret. @returns false if there is none */
export async function endSecret(
  tx: Queryable,
  { organizationId, environmentId }: EnvironmentKey,
  name: string,
  now: Date,
): Promise<boolean> {
  return await queryChanged(tx, {
    name: 'end-environment-secret',
    text: `
      update environment_secrets set ended_at = $4
      where organization_id = $1 and environment_id = $2 and name = $3 and ended_at is null`,
    values: [organizationId, environmentId, name, now],
  })
}

/** Returns the version that a write of a secret makes: one above the highest that ever was. */
export async function nextVersion(
  tx: Queryable,
  { organizationId, environmentId }: EnvironmentKey,
  name: string,
): Promise<number> {
  const { rows } = await tx.query<{ next: number }>({
    name: 'next-version-of-environment-secret',
    text: `
      select coalesce(max(version), 0) + 1 as next from environment_secrets
      where organization_id = $1 and environment_id = $2 and name = $3`,
    values: [organizationId, environmentId, name],
  })
  return rows[0]?.next ?? 1
}

export async function insertSecret(
  tx: Queryable,
  { organizationId, environmentId }: EnvironmentKey,
  secret: {
    readonly name: string
    readonly version: number
    readonly sizeBytes: number
    readonly masked: boolean
    /** Null: sandboxes get the value as a variable. */
    readonly egress: EgressRule | null
    readonly sealed: Buffer
  },
  now: Date,
): Promise<void> {
  await tx.query({
    name: 'insert-environment-secret',
    text: `
      insert into environment_secrets (organization_id, environment_id, name, version, size_bytes, masked, egress, sealed,
        created_at)
      values ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
    values: [
      organizationId,
      environmentId,
      secret.name,
      secret.version,
      secret.sizeBytes,
      secret.masked,
      secret.egress && JSON.stringify(secret.egress),
      secret.sealed,
      now,
    ],
  })
}

/** A version of a secret whose value is not destroyed. */
interface SealedVersion {
  readonly name: string
  readonly version: number
  readonly sealed: Buffer
  readonly egress: EgressRule | null
}

/** Returns the sealed values of pinned versions, by name; those that are destroyed are missing. */
export async function listSealed(
  db: Queryable,
  { organizationId, environmentId }: EnvironmentKey,
  pins: readonly { readonly name: string; readonly version: number }[],
): Promise<readonly SealedVersion[]> {
  return await queryRows<SealedVersion>(db, {
    name: 'list-sealed-environment-secrets',
    text: `
      select s.name, s.version, s.sealed, s.egress
      from unnest($3::text[], $4::integer[]) as pin (name, version)
      join environment_secrets s on s.organization_id = $1 and s.environment_id = $2 and s.name = pin.name
        and s.version = pin.version
      where s.sealed is not null order by s.name`,
    values: [organizationId, environmentId, pins.map(({ name }) => name), pins.map(({ version }) => version)],
  })
}

/** Destroys values that ended before a time. @returns how many */
export async function destroyEndedSecrets(db: Queryable, endedBefore: Date): Promise<number> {
  const { rowCount } = await db.query({
    name: 'destroy-ended-environment-secrets',
    text: 'update environment_secrets set sealed = null where sealed is not null and ended_at <= $1',
    values: [endedBefore],
  })
  return rowCount
}
