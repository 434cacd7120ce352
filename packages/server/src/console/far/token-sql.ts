import { ClaimedRows } from '@berth/platform/storage/postgres/claimed-rows.ts'
import { type Queryable, queryRow } from '@berth/platform/storage/postgres/database.ts'

/** The tokens of a browser's session, as they are stored. */
export interface TokenColumns {
  readonly sealed_tokens: Buffer
  readonly tokens_expire_at: Date
}

/** Reads the tokens of a session; null if it has none, or is no more. */
export async function readTokens(db: Queryable, sessionId: string): Promise<TokenColumns | null> {
  return await queryRow<TokenColumns>(db, {
    name: 'read-console-tokens',
    text: `
      select sealed_tokens, tokens_expire_at from console_sessions where id = $1 and sealed_tokens is not null`,
    values: [sessionId],
  })
}

/** Stores the tokens of a session. Does nothing if the session is no more. */
export async function writeTokens(db: Queryable, sessionId: string, columns: TokenColumns): Promise<void> {
  await db.query({
    name: 'write-console-tokens',
    text: 'update console_sessions set sealed_tokens = $2, tokens_expire_at = $3 where id = $1',
    values: [sessionId, columns.sealed_tokens, columns.tokens_expire_at],
  })
}

/**
 * Sessions whose tokens are to be renewed, which one process does at a time. `$4` is the session, and `$5` the time up to
 * which its tokens have to last.
 */
export const claimedRenewals = new ClaimedRows<TokenColumns>({
  table: 'console_sessions',
  key: ['id'],
  due: 'r.id = $4 and r.tokens_expire_at <= $5',
})
