import { ownCredentials, Redactor } from '@berth/platform/kit/redactor.ts'
import type { SessionKey } from '@berth/platform/kit/session-key.ts'
import type { MasterKey } from '@berth/platform/storage/master-key.ts'
import { type Queryable, queryRows } from '@berth/platform/storage/postgres/database.ts'
import { movedIn } from '@berth/platform/storage/postgres/moved-in.ts'
import { listTokenValues } from './session-tokens.ts'

/** A redactor and the version of the Session's secrets that it masks. */
export interface VersionedRedactor {
  readonly version: number
  readonly redactor: Redactor
}

/** The redactor of a Session without secrets; there is nothing to load or to keep. */
const none: VersionedRedactor = { version: 0, redactor: ownCredentials }
/** Redactors that a process keeps, one a Session; it drops the least recently used first. */
const MAX_KEPT = 512

/** Redactors by the master key that opened the secrets: processes of a deployment share one key, tests have several. */
const kept = new WeakMap<MasterKey, Map<string, VersionedRedactor>>()

/**
 * Returns the redactor that this process last used for a Session. It may be outdated: a caller that relies on it must
 * check its version against the Session's row, as an append does.
 */
export function knownRedactor(db: Queryable, key: SessionKey): VersionedRedactor {
  const redactors = keptBy(db)
  const known = redactors?.get(idOf(key))
  if (redactors === undefined || known === undefined) return none
  keep(redactors, key, known)
  return known
}

/**
 * Reads the secrets of a Session from its rows and returns their redactor.
 * @returns null if there is no such Session
 * @throws UnsealError if another master key has sealed them
 * @throws Error if the handle has no master key
 */
export async function loadRedactor(db: Queryable, key: SessionKey): Promise<VersionedRedactor | null> {
  const found = await listSessionSecrets(db, key)
  if (found === null || found.version === 0) return found && none
  const loaded = { version: found.version, redactor: new Redactor(opened(db, key, found.secrets)) }
  const redactors = keptBy(db)
  if (redactors !== undefined) keep(redactors, key, loaded)
  return loaded
}

/**
 * Returns the value of every secret that a sandbox of the Session was ever given, and its tokens that may still be valid.
 * @throws UnsealError if another master key has sealed one
 */
export async function listSecretValues(db: Queryable, key: SessionKey): Promise<string[]> {
  const [found, tokens] = await Promise.all([listSessionSecrets(db, key), listTokenValues(db, key)])
  return [...opened(db, key, found?.secrets ?? []), ...tokens]
}

function opened({ masterKey }: Queryable, key: SessionKey, secrets: readonly SealedSecret[]): string[] {
  if (secrets.length === 0) return []
  if (masterKey === undefined) throw new Error("cannot read a session's secrets: this process has no master key")
  return secrets.map(({ digest, sealed }) => masterKey.open(sealed, placeOf(key, digest)).toString())
}

/**
 * Returns the redactor of a Session's current secrets, for text that is stored or shown beside the log. It stays
 * current under the Session's lock, or while only this worker makes sandboxes for the Session.
 * @throws UnsealError if another master key has sealed the Session's secrets
 */
export async function sessionRedactor(db: Queryable, key: SessionKey): Promise<Redactor> {
  const known = knownRedactor(db, key)
  if ((await findSecretsVersion(db, key)) === known.version) return known.redactor
  return (await loadRedactor(db, key))?.redactor ?? ownCredentials
}

/**
 * Stores the secrets that a sandbox of the Session is about to receive, in the caller's transaction under the Session's
 * lock. They stay as long as the Session does: its log may tell them at any time.
 * @returns the digest of each, in hexadecimal digits, by which `openRemembered` finds it
 */
export async function rememberSecrets(
  tx: Queryable,
  key: SessionKey,
  source: SecretSource,
  secrets: readonly string[],
  now: Date,
): Promise<readonly string[]> {
  if (secrets.length === 0) return []
  const { masterKey } = tx
  if (masterKey === undefined) throw new Error("cannot store a sandbox's secrets: this process has no master key")
  const digests = secrets.map(secret => masterKey.digest(secret))
  const sealed = secrets.map((secret, index) => {
    const digest = digests[index] ?? masterKey.digest(secret)
    return { digest, sealed: masterKey.seal(secret, placeOf(key, digest)) }
  })
  await addSessionSecrets(tx, key, source, sealed, now)
  return digests.map(digest => digest.toString('hex'))
}

/**
 * Returns remembered secrets by their digests.
 * @throws UnsealError if another master key has sealed one
 * @throws Error if one was never remembered
 */
export async function openRemembered(
  db: Queryable,
  key: SessionKey,
  source: SecretSource,
  digests: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  if (digests.length === 0) return new Map()
  const { masterKey } = db
  if (masterKey === undefined) throw new Error("cannot open a sandbox's secrets: this process has no master key")
  const bytes = digests.map(digest => Buffer.from(digest, 'hex'))
  const found = await listNamedSecrets(db, key, source, bytes)
  const values = new Map(
    found.map(({ digest, sealed }) => [
      digest.toString('hex'),
      masterKey.open(sealed, placeOf(key, digest)).toString(),
    ]),
  )
  const missing = digests.find(digest => !values.has(digest))
  if (missing !== undefined) throw new Error(`the session has no secret with the digest ${missing}`)
  return values
}

function keptBy({ masterKey }: Queryable): Map<string, VersionedRedactor> | undefined {
  if (masterKey === undefined) return undefined
  const redactors = kept.get(masterKey) ?? new Map<string, VersionedRedactor>()
  kept.set(masterKey, redactors)
  return redactors
}

function keep(redactors: Map<string, VersionedRedactor>, key: SessionKey, redactor: VersionedRedactor): void {
  const id = idOf(key)
  redactors.delete(id)
  redactors.set(id, redactor)
  const [oldest] = redactors.keys()
  if (redactors.size > MAX_KEPT && oldest !== undefined) redactors.delete(oldest)
}

const idOf = ({ organizationId, sessionId }: SessionKey) => `${organizationId}/${sessionId}`

const placeOf = (key: SessionKey, digest: Buffer) => `session/${idOf(key)}/${digest.toString('hex')}`

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
  return await queryRows<SealedSecret>(db, {
    name: 'list-named-session-secrets',
    text: `
      select digest, sealed from session_secrets
      where organization_id = $1 and session_id = $2 and source = $3 and digest = any($4::bytea[])`,
    values: [key.organizationId, key.sessionId, source, digests],
  })
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
