import type { SessionKey } from '@berth/platform/kit/session-key.ts'
import { masterKeyOf } from '@berth/platform/storage/master-key.ts'
import type { Queryable } from '@berth/platform/storage/postgres/database.ts'

/** No host's token for a sandbox lives longer. */
const TOKEN_LIFE_MS = 2 * 60 * 60_000

/**
 * Stores tokens that a sandbox of the Session is about to receive, and forgets those that have ended. No append is masked
 * by them: the log masks them by their form.
 */
export async function rememberTokens(
  tx: Queryable,
  key: SessionKey,
  tokens: readonly string[],
  now: Date,
): Promise<void> {
  const masterKey = masterKeyOf(tx)
  const { organizationId, sessionId } = key
  await tx.query({
    name: 'remember-session-tokens',
    text: `
      with forgotten as (
        delete from session_tokens where organization_id = $1 and session_id = $2 and created_at < $6
      )
      insert into session_tokens (organization_id, session_id, digest, sealed, created_at)
      select $1, $2, digest, sealed, $5 from unnest($3::bytea[], $4::bytea[]) as given (digest, sealed)
      on conflict do nothing`,
    values: [
      organizationId,
      sessionId,
      tokens.map(token => masterKey.digest(token)),
      tokens.map(token => masterKey.seal(token, placeOf(key))),
      now,
      new Date(now.getTime() - TOKEN_LIFE_MS),
    ],
  })
}

/**
 * Returns the tokens that the Session's sandboxes were given and that may still be valid.
 * @throws UnsealError if another master key has sealed one
 */
export async function listTokenValues(db: Queryable, key: SessionKey): Promise<string[]> {
  const { organizationId, sessionId } = key
  const { rows } = await db.query<{ sealed: Buffer }>({
    name: 'list-session-tokens',
    text: 'select sealed from session_tokens where organization_id = $1 and session_id = $2',
    values: [organizationId, sessionId],
  })
  if (rows.length === 0) return []
  const masterKey = masterKeyOf(db)
  return rows.map(({ sealed }) => masterKey.open(sealed, placeOf(key)).toString())
}

const placeOf = ({ organizationId, sessionId }: SessionKey) => `session/${organizationId}/${sessionId}/token`
