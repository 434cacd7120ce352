import type { OrganizationSettings, UpdateOrganizationSettings } from '@berth/contract'
import { type BudgetRow, listBudgets } from '@berth/core/accounting/own-budgets.ts'
import { type Quota, setQuotas } from '@berth/core/accounting/set-quota.ts'
import { appendAudit } from '@berth/core/accounts/audit/append.ts'
import { personEntry } from '@berth/core/accounts/audit/person-entry.ts'
import { readAttribution, setAttribution } from '@berth/core/accounts/organizations/commit-attribution.ts'
import { readEgressPolicy, setEgressPolicy } from '@berth/core/accounts/organizations/egress-policy.ts'
import { readFollowSettings, setFollowSettings } from '@berth/core/accounts/organizations/follow-settings.ts'
import {
  defaultSection,
  readSectionTemplate,
  setSectionTemplate,
  unknownPart,
} from '@berth/core/accounts/organizations/pull-request-section.ts'
import type { Context } from '@berth/core/context.ts'
import type { PersonPrincipal } from '@berth/core/identity/guard/principal.ts'
import { resumeAfterRaise } from '@berth/core/sessions/interactions/budget-question.ts'
import { readRunBudgets, setOwnRunBudgets, tighter } from '@berth/core/sessions/runs/run-budgets.ts'
import { invalidField } from '@berth/platform/kit/refusal.ts'
import { canonicalJson } from '@berth/platform/kit/request-hash.ts'
import type { RateLimit } from '@berth/platform/settings/rate-limit.ts'
import type { RunBudgets } from '@berth/platform/settings/run-budgets.ts'
import type { Queryable } from '@berth/platform/storage/postgres/database.ts'
import { findUsageNames } from '../usage/usage-sql.ts'
import { findOrganizationRate } from './rate-sql.ts'
import { settlePolicy } from './settle-policy.ts'

const DAY_MS = 86_400_000

/** The deployment's settings for every organization. */
export interface DeploymentLimits {
  readonly budgets: RunBudgets
  readonly rate: RateLimit
  /** How long an entry of the audit log is kept. */
  readonly auditMs: number
}

/** Returns the limits of an organization: its own, and those of its operator. */
export async function readSettings(
  { db, clock, commits, gitHosts }: { readonly db: Queryable } & Pick<Context, 'clock' | 'commits' | 'gitHosts'>,
  organizationId: string,
  deployment: DeploymentLimits,
): Promise<OrganizationSettings> {
  const budgets = await listBudgets(db, organizationId, clock.now())
  const { operator, own } = await readRunBudgets(db, organizationId, deployment.budgets)
  const rate = await findOrganizationRate(db, organizationId)
  const ownLimit = (period: string) =>
    budgets.find(budget => budget.set_by === 'organization' && budget.period === period && scopeOf(budget).id === null)
      ?.limit_usd ?? null
  const named = await namesOf(db, organizationId, budgets.map(scopeOf))
  return {
    own: {
      dayUsd: ownLimit('day'),
      monthUsd: ownLimit('month'),
      runCostUsd: own.costUsd,
      runTurns: own.turns,
      runSeconds: own.seconds,
    },
    budgets: budgets.map(budget => {
      const { scope, id } = scopeOf(budget)
      return {
        scope,
        id,
        name: id === null ? null : (named.get(id) ?? null),
        period: budget.period,
        setBy: budget.set_by,
        onReached: budget.on_reached,
        limitUsd: budget.limit_usd,
        spentUsd: budget.spent_usd,
        resetsAt: budget.resets_at?.toISOString() ?? null,
      }
    }),
    run: { operator: boundsOf(operator), effective: boundsOf(tighter(operator, own)) },
    commits: {
      ...(await readAttribution(db, organizationId)),
      committer: commits.identity,
      publicKey: commits.signer?.publicKey ?? null,
      hostSigns: gitHosts.canSign,
    },
    pullRequests: { section: await readSectionTemplate(db, organizationId), usualSection: defaultSection },
    egress: await readEgressPolicy(db, organizationId),
    followUps: await readFollowSettings(db, organizationId),
    rate: { burst: deployment.rate.burst, perMinute: deployment.rate.perMinute, own: false, ...rate },
    retention: { auditDays: Math.floor(deployment.auditMs / DAY_MS) },
  }
}

interface Scope {
  readonly scope: 'organization' | 'person' | 'installation'
  readonly id: string | null
}

const scopeOf = ({ person_id, installation_id }: Pick<BudgetRow, 'person_id' | 'installation_id'>): Scope => ({
  scope: person_id !== null ? 'person' : installation_id !== null ? 'installation' : 'organization',
  id: person_id ?? installation_id,
})

/** Returns the names of people and installations that an organization has. */
const namesOf = (db: Queryable, organizationId: string, scopes: readonly Scope[]) => {
  const idsOf = (wanted: Scope['scope']) =>
    scopes.flatMap(({ scope, id }) => (scope === wanted && id !== null ? [id] : []))
  return findUsageNames(db, organizationId, { person: idsOf('person'), installation: idsOf('installation') })
}

const boundsOf = ({ costUsd, turns, seconds }: RunBudgets) => ({
  costUsd: costUsd ?? null,
  turns: turns ?? null,
  seconds: seconds ?? null,
})

/**
 * Sets what an organization lets itself and its people and installations spend and whom its commits name, and returns its
 * settings. Runs go on that waited for a budget which is raised.
 * @throws ApiError 400 if a Git host is to sign commits, and none of the deployment does
 * @throws ApiError 400 if the template of the section in pull requests names something that it has not
 * @throws ApiError 400 if the policy of egress names a host that is not public, or an unknown environment
 * @throws ApiError 400 if a budget is for nobody whom the organization has or for two, or is set twice
 */
export async function updateSettings(
  context: Pick<Context, 'db' | 'clock' | 'commits' | 'gitHosts' | 'wakeups' | 'log'>,
  principal: PersonPrincipal,
  { commits: attribution, budget, egress, pullRequestSection, followUps, ...given }: UpdateOrganizationSettings,
  deployment: DeploymentLimits,
  clientAddress: string,
): Promise<OrganizationSettings> {
  const { db, clock, commits, gitHosts } = context
  const { organizationId } = principal
  const isOfOrganization = budget !== undefined && budget.personId === undefined && budget.installationId === undefined
  if (isOfOrganization && given[`${budget.period}Usd`] !== undefined) {
    throw invalidField(['budget', 'period'], `is that of \`${budget.period}Usd\`, which sets the same budget; give one`)
  }
  const settings = await db.transaction(async tx => {
    const now = clock.now()
    // Two saves at once would each skip what only the other changes, and leave a mixture.
    await tx.query('select 1 from organizations where id = $1 for no key update', [organizationId])
    const before = await readSettings({ db: tx, clock, commits, gitHosts }, organizationId, deployment)
    const own = { ...before.own, ...given }
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
    const scoped = budget === undefined ? null : await scopedQuota(tx, organizationId, before, budget)
    if (scoped !== null) {
      const { target, quota } = scoped
      const details = { period: quota.period, limitUsd: quota.limitUsd, onReached: quota.onReached }
      await appendAudit(
        tx,
        personEntry(principal, clientAddress, 'organization.budgets_changed', { target, details }),
        now,
      )
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
    if (pullRequestSection !== undefined && pullRequestSection !== before.pullRequests.section) {
      const unknown = unknownPart(pullRequestSection ?? '')
      if (unknown !== null) throw invalidField(['pullRequestSection'], `names {${unknown}}, which stands for nothing`)
      await setSectionTemplate(tx, organizationId, pullRequestSection)
      const details = { section: pullRequestSection }
      await appendAudit(tx, personEntry(principal, clientAddress, 'organization.section_changed', { details }), now)
    }
    if (egress !== undefined) {
      const policy = await settlePolicy(tx, organizationId, before.egress, egress)
      if (canonicalJson(policy) !== canonicalJson(before.egress)) {
        await setEgressPolicy(tx, organizationId, policy)
        const details = { ...policy }
        await appendAudit(tx, personEntry(principal, clientAddress, 'organization.egress_changed', { details }), now)
      }
    }
    if (followUps !== undefined) {
      const { label, assignee, baseCommits } = { ...before.followUps, ...followUps }
      const details = { label, assignee, baseCommits }
      if (Object.entries(details).some(([name, value]) => before.followUps[name as keyof typeof details] !== value)) {
        await setFollowSettings(tx, organizationId, details)
        await appendAudit(
          tx,
          personEntry(principal, clientAddress, 'organization.follow_ups_changed', { details }),
          now,
        )
      }
    }
    // The last writes, because the costs of all organizations may wait for them.
    const periods = [
      { name: 'dayUsd', period: 'day' },
      { name: 'monthUsd', period: 'month' },
    ] as const
    const quotas = periods
      .filter(({ name }) => changed.includes(name))
      .map(({ name, period }): Quota => ({ organizationId, period, limitUsd: own[name] }))
    await setQuotas(tx, 'organization', [...quotas, ...(scoped === null ? [] : [scoped.quota])], now)
    return await readSettings({ db: tx, clock, commits, gitHosts }, organizationId, deployment)
  })
  await resumeAfterRaise(context, organizationId)
  return settings
}

/**
 * Returns the budget that a request sets, and the words of the audit log for whom it bounds; null if nothing changes.
 * @throws ApiError 400
 */
async function scopedQuota(
  tx: Queryable,
  organizationId: string,
  { budgets }: Pick<OrganizationSettings, 'budgets'>,
  { personId, installationId, ...wanted }: NonNullable<UpdateOrganizationSettings['budget']>,
): Promise<{ readonly quota: Quota; readonly target: string } | null> {
  if (personId !== undefined && installationId !== undefined) {
    throw invalidField(['budget', 'installationId'], 'a budget bounds a person or an installation, not both')
  }
  const { scope, id } = scopeOf({ person_id: personId ?? null, installation_id: installationId ?? null })
  if (id !== null && !(await namesOf(tx, organizationId, [{ scope, id }])).has(id)) {
    throw invalidField(['budget', `${scope}Id`], `the organization has no such ${scope}`)
  }
  const known = budgets.find(
    other => other.setBy === 'organization' && other.id === id && other.period === wanted.period,
  )
  const { limitUsd } = wanted
  if (limitUsd === undefined && known === undefined)
    throw invalidField(['budget', 'limitUsd'], 'is required, since there is no such budget yet')
  const onReached = wanted.onReached ?? (known?.onReached === 'pause' ? 'pause' : 'refuse')
  const keepsLimit = limitUsd === undefined || limitUsd === (known?.limitUsd ?? null)
  if (keepsLimit && (limitUsd === null || known?.onReached === onReached)) return null
  return {
    quota: {
      organizationId,
      ...(personId !== undefined && { personId }),
      ...(installationId !== undefined && { installationId }),
      period: wanted.period,
      // What was read above may be raised by an answer meanwhile: a limit that nobody names stays as it is then.
      ...(limitUsd !== undefined && { limitUsd }),
      onReached,
    },
    target: `${scope}/${id ?? organizationId}`,
  }
}
