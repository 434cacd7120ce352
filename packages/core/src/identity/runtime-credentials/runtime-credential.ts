import { randomBytes } from 'node:crypto'
import { credentialDigest } from '@berth/platform/storage/master-key.ts'
import type { Queryable } from '@berth/platform/storage/postgres/database.ts'

/**
 * Makes a credential of a Run, which only the gateway accepts and which ends with the Run. A Run may have several, one
 * for each worker that held it. All of them count against the same bucket and budget.
 *
 * @returns `svc_run_` and 43 characters, shown once; the caller keeps it from logs and sandboxes
 */
export async function mintRuntimeCredential(
  db: Queryable,
  run: {
    readonly organizationId: string
    readonly sessionId: string
    readonly runId: string
    /** The Run's bound in US dollars; absent: no bound. */
    readonly budgetUsd?: number
  },
  now: Date,
): Promise<string> {
  const credential = `svc_run_${randomBytes(32).toString('base64url')}`
  await db.query({
    name: 'mint-runtime-credential',
    text: `
      insert into runtime_credentials (token_sha256, organization_id, session_id, run_id, budget_usd, created_at)
      values ($1, $2, $3, $4, $5, $6)`,
    values: [credentialDigest(credential), run.organizationId, run.sessionId, run.runId, run.budgetUsd ?? null, now],
  })
  return credential
}
