import type { Queryable } from '@berth/platform/storage/postgres/database.ts'

/** The tokens of a browser's session, as they are stored. */
export interface TokenRow {
  readonly sealed: Buffer
  readonly expires_at: Date
}

/** Reads the tokens of a session; null if it has none, or is no more. */
export async function readTokens(db: Queryable, sessionId: string): Promise<TokenRow | null> {
  const { rows } = await db.query<TokenRow>({
    name: 'read-console-tokens',
    text: 'select sealed, expires_at from console_tokens where console_session_id = $1',
    values: [sessionId],
  })
  return rows[0] ?? null
}

/** Stores the tokens of a session, and ends the claim of whoever renewed them. Does nothing if the session is no more. */
export async function writeTokens(
  db: Queryable,
  sessionId: string,
  { sealed, expires_at }: TokenRow,
  renewingUntil: Date | null,
): Promise<void> {
  await db.query({
    name: 'write-console-tokens',
    text: `
      insert into console_tokens (console_session_id, sealed, expires_at, renewing_until)
      select id, $2, $3, $4 from console_sessions where id = $1
      on conflict (console_session_id) do update
        set sealed = excluded.sealed, expires_at = excluded.expires_at, renewing_until = excluded.renewing_until`,
    values: [sessionId, sealed, expires_at, renewingUntil],
  })
}

/**
 * Claims the renewal of a session's tokens, if they end before `staleAt` and nobody else renews them.
 * @returns the sealed tokens to renew; null if the claim is another's, or there is nothing to renew
 */
export async function claimRenewal(
  db: Queryable,
  sessionId: string,
  { now, staleAt, until }: { readonly now: Date; readonly staleAt: Date; readonly until: Date },
): Promise<Buffer | null> {
  const { rows } = await db.query<{ sealed: Buffer }>({
    name: 'claim-console-renewal',
    text: `
      update console_tokens set renewing_until = $4
      where console_session_id = $1 and expires_at <= $3 and (renewing_until is null or renewing_until <= $2)
      returning sealed`,
    values: [sessionId, now, staleAt, until],
  })
  return rows[0]?.sealed ?? null
}

/** Gives a claim back after a renewal that could not be tried. */
export async function releaseRenewal(db: Queryable, sessionId: string, until: Date): Promise<void> {
  await db.query({
    name: 'release-console-renewal',
    text: 'update console_tokens set renewing_until = null where console_session_id = $1 and renewing_until = $2',
    values: [sessionId, until],
  })
}
