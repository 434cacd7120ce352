import type { AdminIo } from '../io.ts'
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
  readonly usd: number | null
  readonly per: string
  readonly key?: string
}

/** Sets an organization's budgets for each Run. It writes to the database, so the service need not run. */
export function setBudget(organizationId: string, budgets: BudgetOptions, { env }: AdminIo): Promise<void> {
  return withAdmin(admin => admin.setBudgets(env, organizationId, budgets))
}

/** Limits the spending of an organization, or of one of its keys, on models in each period. */
export function setQuota(organizationId: string, options: QuotaOptions, { env }: AdminIo): Promise<void> {
  const { usd: limitUsd, per: period, key: apiKeyId } = options
  const budget = { organizationId, period, limitUsd, ...(apiKeyId !== undefined && { apiKeyId }) }
  return withAdmin(admin => admin.setQuota(env, budget))
}

const withAdmin = (work: (admin: AdminModule) => Promise<void>) => withServer('@berth/server/admin', work)
