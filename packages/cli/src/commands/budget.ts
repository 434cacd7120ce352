import { UsageError } from '../failure.ts'

interface AdminModule {
  setBudgets(env: NodeJS.ProcessEnv, organizationId: string, budgets: BudgetOptions): Promise<void>
}

export interface BudgetOptions {
  readonly costUsd?: number
  readonly turns?: number
  readonly seconds?: number
}

/** Held in a variable so that the bundle leaves the service outside. */
const adminModule: string = '@berth/server/admin'

/** Gives an organization budgets of its own for each Run. It writes to the database, not to the service. */
export async function setBudget(organizationId: string, budgets: BudgetOptions, env: NodeJS.ProcessEnv): Promise<void> {
  const { setBudgets } = (await import(adminModule)) as AdminModule
  await setBudgets(env, organizationId, budgets).catch(error => {
    throw error instanceof Error && error.name === 'StartError' ? new UsageError(error.message) : error
  })
}
