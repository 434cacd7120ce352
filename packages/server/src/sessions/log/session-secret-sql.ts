import type { SessionKey } from '../../kit/session-key.ts'
import type { Queryable } from '../../storage/postgres/database.ts'
import { movedIn } from '../../storage/postgres/moved-in.ts'

/** The origin of a sandbox's secret. */
export type SecretSource = 'runtime' | 'environment'

/** A secret as the database stores it. */
export interface SealedSecret {
  readonly digest: Buffer
  readonly sealed: Buffer
}

/** Returns the version of a Session's secrets: 0 if it has none, null if there is no such Session. */
export async function findSecretsVersion(db: Queryable, key: SessionKey): Promise<number | null> {
  const { rows } = await db.query<{ secrets_version: number }>({
    name: 'find-secrets-version',
    text: 'select secrets_version from sessions where organization_id = $1 and id = $2',
    values: [key.organizationId, key.sessionId],
  })
  return rows[0]?.secrets_version ?? null
}

/** Returns the secrets of a Session and their version from one snapshot, or null if there is no such Session. */
export async function listSessionSecrets(
  db: Queryable,
  key: SessionKey,
): Promise<{ readonly version: number; readonly secrets: readonly SealedSecret[] } | null> {
  const { rows } = await db.query<{ version: number; digest: Buffer | null; sealed: Buffer | null }>({
    name: 'list-session-secrets',
    text: `
      select s.secrets_version as version, k.digest, k.sealed from sessions s
      left join session_secrets k on k.organization_id = s.organization_id and k.session_id = s.id
      where s.organization_id = $1 and s.id = $2`,
    values: [key.organizationId, key.sessionId],
  })
  const [first] = rows
  if (first === undefined) return null
  const secrets = rows.flatMap(({ digest, sealed }) => (digest === null || sealed === null ? [] : [{ digest, sealed }]))
  return { version: first.version, secrets }
}

/** Returns those of a Session's secrets that have one of the digests. */
export async function listNamedSecrets(
  db: Queryable,
  key: SessionKey,
  source: SecretSource,
  digests: readonly Buffer[],
): Promise<readonly SealedSecret[]> {
  const { rows } = await db.query<SealedSecret>({
    name: 'list-named-session-secrets',
    text: `
      select digest, sealed from session_secrets
      where organization_id = $1 and session_id = $2 and source = $3 and digest = any($4::bytea[])`,
    values: [key.organizationId, key.sessionId, source, digests],
  })
  return rows
}

/** Adds the secrets that the Session does not have yet; if there are any, the Session gets a new version. */
export async function addSessionSecrets(
  tx: Queryable,
  key: SessionKey,
  source: SecretSource,
  secrets: readonly SealedSecret[],
  now: Date,
): Promise<void> {
  await tx.query({
    text: `
      with added as (
        insert into session_secrets (organization_id, session_id, source, digest, sealed, created_at)
        select $1, $2, $3, digest, sealed, $6 from unnest($4::bytea[], $5::bytea[]) as given (digest, sealed)
        on conflict do nothing returning 1
      )
      update sessions set secrets_version = 1 + floor(random() * 2 ^ 52)::bigint, ${movedIn}
      where organization_id = $1 and id = $2 and exists (select 1 from added)`,
    values: [
      key.organizationId,
      key.sessionId,
      source,
      secrets.map(({ digest }) => digest),
      secrets.map(({ sealed }) => sealed),
      now,
    ],
  })
}
