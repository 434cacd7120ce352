import { type Quota, setQuotaOf } from '@berth/core/accounting/set-quota.ts'
import { reportUsage, type UsageGrouping, type UsageRow } from '@berth/core/accounting/usage-report.ts'
import { appendAudit, operator } from '@berth/core/accounts/audit/append.ts'
import { setRunBudgets } from '@berth/core/sessions/runs/run-budgets.ts'
import { StartError } from '@berth/platform/kit/start-error.ts'
import { isUuid } from '@berth/platform/kit/uuid.ts'
import type { RunBudgets } from '@berth/platform/settings/run-budgets.ts'
import type { Queryable } from '@berth/platform/storage/postgres/database.ts'
import { findUsageNames } from '../console/usage/usage-sql.ts'
import { type Variables, withDatabase } from './database.ts'

/**
 * Returns the recorded usage of a deployment's models.
 *
 * @throws StartError in one line, for an operator to correct
 */
export async function readUsage(
  variables: Variables,
  query: { readonly by: UsageGrouping; readonly since: Date },
): Promise<readonly UsageRow[]> {
  return withDatabase(variables, db => reportUsage(db, query.by, query.since))
}

/**
 * Gives an organization its own budgets for each Run, instead of the deployment's.
 *
 * @throws StartError in one line, for an operator to correct
 */
export async function setBudgets(variables: Variables, organizationId: string, budgets: RunBudgets): Promise<void> {
  await withDatabase(variables, (db, _, clock) =>
    db.transaction(async tx => {
      await requireOrganization(tx, organizationId)
      await setRunBudgets(tx, organizationId, budgets)
      const about = { action: 'budget.changed', target: `organization/${organizationId}`, details: { ...budgets } }
      await appendAudit(tx, { organizationId, actor: operator, outcome: 'done', ...about }, clock.now())
    }),
  )
}

/**
 * Bounds the spending of an organization, or of one of its keys, people or installations, on models in each period.
 *
 * @throws StartError in one line, for an operator to correct
 */
export async function setQuota(variables: Variables, budget: Quota): Promise<void> {
  await withDatabase(variables, (db, _, clock) =>
    db.transaction(async tx => {
      const { organizationId, apiKeyId: key, personId, installationId, period, limitUsd, onReached } = budget
      await requireOrganization(tx, organizationId)
      if ([key, personId, installationId].filter(id => id !== undefined).length > 1) {
        throw new StartError('a quota is for a key, a person or an installation, not for two of them')
      }
      const id = personId ?? installationId
      const idsOf = (one: string | undefined) => (one === undefined || !isUuid(one) ? [] : [one])
      const ids = { person: idsOf(personId), installation: idsOf(installationId) }
      if (id !== undefined && !(await findUsageNames(tx, organizationId, ids)).has(id)) {
        throw new StartError(`the organization has no ${personId === undefined ? 'installation' : 'person'} ${id}`)
      }
      const known = (key === undefined || isUuid(key)) && (await setQuotaOf(tx, budget, clock.now()))
      if (!known)
        throw new StartError(`the organization has no key ${key}; berth admin usage --by key shows those in use`)
      const target =
        key !== undefined
          ? `api-key/${key}`
          : id === undefined
            ? `organization/${organizationId}`
            : `${personId === undefined ? 'installation' : 'person'}/${id}`
      const details = { period, limitUsd, ...(onReached !== undefined && { onReached }) }
      const about = { action: 'quota.changed', target, details }
      await appendAudit(tx, { organizationId, actor: operator, outcome: 'done', ...about }, clock.now())
    }),
  )
}

async function requireOrganization(db: Queryable, id: string): Promise<void> {
  const text = 'select 1 from organizations where id = $1'
  const { rows } = isUuid(id) ? await db.query({ text, values: [id] }) : { rows: [] }
  if (rows.length === 0) throw new StartError(`there is no organization ${id}`)
}
