import type { AdminIo } from '../io.ts'
import { amountOf, type Dollars } from '../option-values.ts'
import { withServer } from '../server-module.ts'

interface AdminModule {
  setQuota(env: NodeJS.ProcessEnv, budget: object): Promise<void>
  setBudgets(env: NodeJS.ProcessEnv, organizationId: string, budgets: BudgetOptions): Promise<void>
}

export interface BudgetOptions {
  readonly costUsd?: number
  readonly turns?: number
  readonly seconds?: number
}

export interface QuotaOptions {
  readonly usd: Dollars
  readonly per: string
  readonly key?: string
  readonly person?: string
  readonly installation?: string
  readonly onReached?: string
}

/** Sets an organization's budgets for each Run. It writes to the database, so the service need not run. */
export function setBudget(organizationId: string, budgets: BudgetOptions, { env }: AdminIo): Promise<void> {
  return withAdmin(admin => admin.setBudgets(env, organizationId, budgets))
}

/** Limits the spending of an organization, or of one of its keys, people or installations, on models in each period. */
export function setQuota(organizationId: string, options: QuotaOptions, { env }: AdminIo): Promise<void> {
  const { usd, per: period, key: apiKeyId, person: personId, installation: installationId, onReached } = options
  const budget = { organizationId, apiKeyId, personId, installationId, period, limitUsd: amountOf(usd), onReached }
  return withAdmin(admin => admin.setQuota(env, budget))
}

const withAdmin = (work: (admin: AdminModule) => Promise<void>) => withServer('@berth/server/admin', work)
