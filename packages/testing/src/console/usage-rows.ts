import { randomUUID } from 'node:crypto'
import type { Database } from '@berth/platform/storage/postgres/database.ts'

/** A request that reached a provider; what is left out is a request of nobody in particular that cost nothing. */
export interface Spent {
  readonly organizationId: string
  readonly at: string
  readonly model?: string
  readonly costUsd?: number | null
  readonly personId?: string
  readonly installationId?: string
  readonly sessionId?: string
  readonly runId?: string
  readonly outcome?: 'completed' | 'failed'
}

/** Records requests as the gateway does. Each read 100 tokens, 40 of them from a cache and 20 into one, and wrote 10, 4 of them in thought. */
export async function spend(db: Database, ...requests: readonly Spent[]): Promise<void> {
  for (const { organizationId, at, model = 'p/m', costUsd = 0, outcome = 'completed', ...by } of requests) {
    await db.query(
      `insert into gateway_requests (id, organization_id, credential_kind, wire, provider, model, outcome, input_tokens,
         cached_input_tokens, cache_write_tokens, output_tokens, reasoning_tokens, cost_usd, started_at, person_id,
         installation_id, session_id, run_id)
       values ($1, $2, 'person', 'chat', 'p', $3, $4, 100, 40, 20, 10, 4, $5, $6, $7, $8, $9, $10)`,
      [
        randomUUID(),
        organizationId,
        model,
        outcome,
        costUsd,
        new Date(at),
        by.personId ?? null,
        by.installationId ?? null,
        by.sessionId ?? null,
        by.runId ?? null,
      ],
    )
  }
}
