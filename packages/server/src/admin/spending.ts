import { type Quota, setQuotaOf } from '../gateway/accounting/set-quota.ts'
import { reportUsage, type UsageGrouping, type UsageRow } from '../gateway/accounting/usage-report.ts'
import { StartError } from '../kit/start-error.ts'
import { isUuid } from '../kit/uuid.ts'
import { setRunBudgets } from '../sessions/runs/run-budgets.ts'
import type { RunBudgets } from '../settings/run-budgets.ts'
import type { Database } from '../storage/postgres/database.ts'
import { type Variables, withDatabase } from './database.ts'

/**
 * Returns the recorded usage of a deployment's models.
 *
 * @throws StartError in one line, for an operator to correct
 */
export async function readUsage(
  variables: Variables,
  asked: { readonly by: UsageGrouping; readonly since: Date },
): Promise<readonly UsageRow[]> {
  return withDatabase(variables, db => reportUsage(db, asked.by, asked.since))
}

/**
 * Gives an organization its own budgets for each Run, instead of the deployment's.
 *
 * @throws StartError in one line, for an operator to correct
 */
export async function setBudgets(variables: Variables, organizationId: string, budgets: RunBudgets): Promise<void> {
  await withDatabase(variables, async db => {
    await requireOrganization(db, organizationId)
    await setRunBudgets(db, organizationId, budgets)
  })
}

/**
 * Bounds the spending of an organization, or of one of its keys, on models in each period.
 *
 * @throws StartError in one line, for an operator to correct
 */
export async function setQuota(variables: Variables, budget: Quota): Promise<void> {
  await withDatabase(variables, async (db, _, clock) => {
    await requireOrganization(db, budget.organizationId)
    const key = budget.apiKeyId
    const known = (key === undefined || isUuid(key)) && (await setQuotaOf(db, budget, clock.now()))
    if (!known)
      throw new StartError(`the organization has no key ${key}; berth admin usage --by key shows those in use`)
  })
}

async function requireOrganization(db: Database, id: string): Promise<void> {
  const text = 'select 1 from organizations where id = $1'
  const { rows } = isUuid(id) ? await db.query({ text, values: [id] }) : { rows: [] }
  if (rows.length === 0) throw new StartError(`there is no organization ${id}`)
}
