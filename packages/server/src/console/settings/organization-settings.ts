import type { OrganizationSettings, UpdateOrganizationSettings } from '@berth/contract'
import { appendAudit } from '../../accounts/audit/append.ts'
import { personEntry } from '../../accounts/audit/person-entry.ts'
import type { Context } from '../../context.ts'
import { listBudgets, setOwnBudgets } from '../../gateway/accounting/own-budgets.ts'
import type { PersonPrincipal } from '../../identity/guard/principal.ts'
import { readRunBudgets, setOwnRunBudgets, tighter } from '../../sessions/runs/run-budgets.ts'
import type { RateLimit } from '../../settings/rate-limit.ts'
import type { RunBudgets } from '../../settings/run-budgets.ts'
import type { Queryable } from '../../storage/postgres/database.ts'
import { findOrganizationRate } from './rate-sql.ts'

const DAY_MS = 86_400_000

/** What the deployment says for every organization. */
export interface DeploymentLimits {
  readonly budgets: RunBudgets
  readonly rate: RateLimit
  /** How long an entry of the audit log is kept. */
  readonly auditMs: number
}

/** Returns what an organization may use: what it set itself, and what its operator set. */
export async function readSettings(
  { db, clock }: { readonly db: Queryable; readonly clock: Context['clock'] },
  organizationId: string,
  deployment: DeploymentLimits,
): Promise<OrganizationSettings> {
  const budgets = await listBudgets(db, organizationId, clock.now())
  const { operator, own } = await readRunBudgets(db, organizationId, deployment.budgets)
  const rate = await findOrganizationRate(db, organizationId)
  const ownLimit = (period: string) =>
    budgets.find(budget => budget.set_by === 'organization' && budget.period === period)?.limit_usd ?? null
  return {
    own: {
      dayUsd: ownLimit('day'),
      monthUsd: ownLimit('month'),
      runCostUsd: own.costUsd,
      runTurns: own.turns,
      runSeconds: own.seconds,
    },
    budgets: budgets.map(({ period, set_by, limit_usd, spent_usd, resets_at }) => ({
      period,
      setBy: set_by,
      limitUsd: limit_usd,
      spentUsd: spent_usd,
      resetsAt: resets_at?.toISOString() ?? null,
    })),
    run: { operator: boundsOf(operator), effective: boundsOf(tighter(operator, own)) },
    rate: { burst: deployment.rate.burst, perMinute: deployment.rate.perMinute, own: false, ...rate },
    retention: { auditDays: Math.floor(deployment.auditMs / DAY_MS) },
  }
}

const boundsOf = ({ costUsd, turns, seconds }: RunBudgets) => ({
  costUsd: costUsd ?? null,
  turns: turns ?? null,
  seconds: seconds ?? null,
})

/** Sets what an organization lets itself spend, and returns its settings. */
export async function updateSettings(
  { db, clock }: Pick<Context, 'db' | 'clock'>,
  principal: PersonPrincipal,
  own: UpdateOrganizationSettings,
  deployment: DeploymentLimits,
  clientAddress: string,
): Promise<OrganizationSettings> {
  const { organizationId } = principal
  return await db.transaction(async tx => {
    const now = clock.now()
    // Two saves at once would each skip what only the other changes, and leave a mixture.
    await tx.query('select 1 from organizations where id = $1 for no key update', [organizationId])
    const before = await readSettings({ db: tx, clock }, organizationId, deployment)
    const names = Object.keys(own) as (keyof UpdateOrganizationSettings)[]
    const changed = names.filter(name => before.own[name] !== own[name])
    if (changed.some(name => name.startsWith('run'))) {
      await setOwnRunBudgets(tx, organizationId, {
        costUsd: own.runCostUsd,
        turns: own.runTurns,
        seconds: own.runSeconds,
      })
    }
    if (changed.length > 0) {
      const details = Object.fromEntries(changed.map(name => [name, own[name]]))
      await appendAudit(tx, personEntry(principal, clientAddress, 'organization.budgets_changed', { details }), now)
    }
    // The last writes, because the costs of all organizations may wait for them.
    const budgets = [
      { name: 'dayUsd', period: 'day' },
      { name: 'monthUsd', period: 'month' },
    ] as const
    const wanted = budgets.filter(({ name }) => changed.includes(name))
    const limits = wanted.map(({ name, period }) => ({ period, limitUsd: own[name] }))
    await setOwnBudgets(tx, organizationId, limits, now)
    return await readSettings({ db: tx, clock }, organizationId, deployment)
  })
}
