import { appendAudit, operator } from '@berth/core/accounts/audit/append.ts'
import { listStatementKeys, revokeStatementKey } from '@berth/core/sessions/statements/statement-key-sql.ts'
import { StartError } from '@berth/platform/kit/start-error.ts'
import { type Variables, withDatabase } from './database.ts'

/** A key of statements as an operator sees it. */
export interface KeyFacts {
  readonly kid: string
  readonly state: 'next' | 'signs' | 'rotated' | 'revoked'
  readonly signsFrom: Date
  readonly signsUntil: Date
}

/** Lists the keys that have signed statements, or will, oldest first. @throws StartError */
export function readStatementKeys(variables: Variables): Promise<readonly KeyFacts[]> {
  return withDatabase(variables, async (db, _, clock) => {
    const now = clock.now()
    return (await listStatementKeys(db)).map(({ kid, signs_from, signs_until, revoked_at }) => {
      const byTime = signs_until <= now ? 'rotated' : signs_from <= now ? 'signs' : 'next'
      return { kid, state: revoked_at === null ? byTime : 'revoked', signsFrom: signs_from, signsUntil: signs_until }
    })
  })
}

/**
 * Takes a key back. Another is made when the next statement is signed.
 * @throws StartError in one line, for an operator to correct
 */
export function revokeKey(variables: Variables, kid: string): Promise<void> {
  return withDatabase(variables, (db, _, clock) =>
    db.transaction(async tx => {
      const now = clock.now()
      if (!(await revokeStatementKey(tx, kid, now))) {
        throw new StartError(
          `there is no key ${JSON.stringify(kid)} to revoke; \`berth admin statement-key list\` shows them`,
        )
      }
      const entry = { organizationId: null, actor: operator, action: 'statement_key.revoked', target: `key/${kid}` }
      await appendAudit(tx, { ...entry, outcome: 'done', details: {} }, now)
    }),
  )
}
