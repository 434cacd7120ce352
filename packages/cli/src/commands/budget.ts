import { UsageError } from '../failure.ts'

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

/** Held in a variable so that the bundle leaves the service outside. */
const adminModule: string = '@berth/server/admin'

/** Gives an organization budgets of its own for each Run. It writes to the database, not to the service. */
export async function setBudget(organizationId: string, budgets: BudgetOptions, env: NodeJS.ProcessEnv): Promise<void> {
  const { setBudgets } = (await import(adminModule)) as AdminModule
  await setBudgets(env, organizationId, budgets).catch(explained)
}

/** Bounds what an organization, or one of its keys, spends on models in each period. */
export async function setQuota(organizationId: string, options: QuotaOptions, env: NodeJS.ProcessEnv): Promise<void> {
  const admin = (await import(adminModule)) as AdminModule
  const { usd: limitUsd, per: period, key: apiKeyId } = options
  const budget = { organizationId, period, limitUsd, ...(apiKeyId !== undefined && { apiKeyId }) }
  await admin.setQuota(env, budget).catch(explained)
}

function explained(error: unknown): never {
  throw error instanceof Error && error.name === 'StartError' ? new UsageError(error.message) : error
}
