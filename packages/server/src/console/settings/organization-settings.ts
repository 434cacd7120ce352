import type { OrganizationSettings, UpdateOrganizationSettings } from '@berth/contract'
import { listBudgets, setOwnBudgets } from '@berth/core/accounting/own-budgets.ts'
import { appendAudit } from '@berth/core/accounts/audit/append.ts'
import { personEntry } from '@berth/core/accounts/audit/person-entry.ts'
import { readAttribution, setAttribution } from '@berth/core/accounts/organizations/commit-attribution.ts'
import type { Context } from '@berth/core/context.ts'
import type { PersonPrincipal } from '@berth/core/identity/guard/principal.ts'
import { readRunBudgets, setOwnRunBudgets, tighter } from '@berth/core/sessions/runs/run-budgets.ts'
import { invalidField } from '@berth/platform/kit/refusal.ts'
import type { RateLimit } from '@berth/platform/settings/rate-limit.ts'
import type { RunBudgets } from '@berth/platform/settings/run-budgets.ts'
import type { Queryable } from '@berth/platform/storage/postgres/database.ts'
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
  { db, clock, commits, gitHosts }: { readonly db: Queryable } & Pick<Context, 'clock' | 'commits' | 'gitHosts'>,
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
    commits: {
      ...(await readAttribution(db, organizationId)),
      committer: commits.identity,
      publicKey: commits.signer?.publicKey ?? null,
      hostSigns: gitHosts.canSign,
    },
    rate: { burst: deployment.rate.burst, perMinute: deployment.rate.perMinute, own: false, ...rate },
    retention: { auditDays: Math.floor(deployment.auditMs / DAY_MS) },
  }
}

const boundsOf = ({ costUsd, turns, seconds }: RunBudgets) => ({
  costUsd: costUsd ?? null,
  turns: turns ?? null,
  seconds: seconds ?? null,
})

/**
 * Sets what an organization lets itself spend and whom its commits name, and returns its settings.
 * @throws ApiError 400 if a Git host is to sign commits, and none of the deployment does
 */
export async function updateSettings(
  { db, clock, commits, gitHosts }: Pick<Context, 'db' | 'clock' | 'commits' | 'gitHosts'>,
  principal: PersonPrincipal,
  { commits: attribution, ...own }: UpdateOrganizationSettings,
  deployment: DeploymentLimits,
  clientAddress: string,
): Promise<OrganizationSettings> {
  const { organizationId } = principal
  return await db.transaction(async tx => {
    const now = clock.now()
    // Two saves at once would each skip what only the other changes, and leave a mixture.
    await tx.query('select 1 from organizations where id = $1 for no key update', [organizationId])
    const before = await readSettings({ db: tx, clock, commits, gitHosts }, organizationId, deployment)
    const names = Object.keys(own) as (keyof typeof own)[]
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
    const { author, signOff, signer } = { ...before.commits, ...attribution }
    const details = { author, signOff, signer }
    if (Object.entries(details).some(([name, value]) => before.commits[name as keyof typeof details] !== value)) {
      if (signer === 'host' && !gitHosts.canSign) {
        throw invalidField(['commits', 'signer'], 'no Git host of this deployment signs commits; GitHub does')
      }
      await setAttribution(tx, organizationId, details)
      await appendAudit(tx, personEntry(principal, clientAddress, 'organization.commits_changed', { details }), now)
    }
    // The last writes, because the costs of all organizations may wait for them.
    const budgets = [
      { name: 'dayUsd', period: 'day' },
      { name: 'monthUsd', period: 'month' },
    ] as const
    const wanted = budgets.filter(({ name }) => changed.includes(name))
    const limits = wanted.map(({ name, period }) => ({ period, limitUsd: own[name] }))
    await setOwnBudgets(tx, organizationId, limits, now)
    return await readSettings({ db: tx, clock, commits, gitHosts }, organizationId, deployment)
  })
}
