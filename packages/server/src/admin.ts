import { readFileSync } from 'node:fs'
import { type Quota, setQuotaOf } from './gateway/accounting/set-quota.ts'
import { reportUsage, type UsageGrouping, type UsageRow } from './gateway/accounting/usage-report.ts'
import { type RunBudgets, setRunBudgets } from './runs/run-budgets.ts'
import { loadSettings } from './settings.ts'
import { StartError } from './start-error.ts'
import type { Database } from './storage/database.ts'
import { DatabaseUnavailable } from './storage/database-errors.ts'
import { embeddedConnection } from './storage/embedded-postgres.ts'
import { openDatabase } from './storage/pool.ts'

const quiet = { info() {}, warn() {}, error() {} }

/**
 * What the models of a deployment were used for, read from its database: the one that the settings name or, beside a
 * service that runs, its embedded one.
 * @param variables the environment, as the service reads it
 * @throws StartError in one line, for what an operator can mend
 */
export async function readUsage(
  variables: Readonly<Record<string, string | undefined>>,
  asked: { readonly by: UsageGrouping; readonly since: Date },
): Promise<readonly UsageRow[]> {
  return withDatabase(variables, db => reportUsage(db, asked.by, asked.since))
}

/**
 * Gives an organization budgets of its own for each Run, in place of the deployment's.
 * @throws StartError in one line, for what an operator can mend
 */
export async function setBudgets(
  variables: Readonly<Record<string, string | undefined>>,
  organizationId: string,
  budgets: RunBudgets,
): Promise<void> {
  await withDatabase(variables, async db => {
    await requireOrganization(db, organizationId)
    await setRunBudgets(db, organizationId, budgets)
  })
}

/**
 * Bounds what an organization, or one of its keys, spends on models in each period.
 * @throws StartError in one line, for what an operator can mend
 */
export async function setQuota(variables: Readonly<Record<string, string | undefined>>, budget: Quota): Promise<void> {
  await withDatabase(variables, async db => {
    await requireOrganization(db, budget.organizationId)
    const key = budget.apiKeyId
    const known = (key === undefined || isUuid(key)) && (await setQuotaOf(db, budget, new Date()))
    if (!known)
      throw new StartError(`the organization has no key ${key}; berth admin usage --by key shows those in use`)
  })
}

async function requireOrganization(db: Database, id: string): Promise<void> {
  const text = 'select 1 from organizations where id = $1'
  const { rows } = isUuid(id) ? await db.query({ text, values: [id] }) : { rows: [] }
  if (rows.length === 0) throw new StartError(`there is no organization ${id}`)
}

const isUuid = (text: string): boolean => /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text)

async function withDatabase<Result>(
  variables: Readonly<Record<string, string | undefined>>,
  work: (db: Database) => Promise<Result>,
): Promise<Result> {
  const { databaseUrl, dataDir } = loadSettings(variables, path => {
    try {
      return readFileSync(path, 'utf8')
    } catch {
      return undefined
    }
  })
  const connection = databaseUrl === undefined ? embeddedConnection(dataDir) : { connectionString: databaseUrl }
  await using db = openDatabase({ connection, log: quiet, connections: 1 })
  try {
    return await work(db)
  } catch (error) {
    if (!(error instanceof DatabaseUnavailable)) throw error
    const where = databaseUrl === undefined ? `no service runs on ${dataDir}` : 'the database does not answer'
    throw new StartError(`${where}; start it, or name the database with DATABASE_URL`, { cause: error })
  }
}
