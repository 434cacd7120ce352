import { randomUUID } from 'node:crypto'
import type { InteractionRequest } from '@berth/contract'
import { invalidField, refusal } from '@berth/platform/kit/refusal.ts'
import type { SessionKey } from '@berth/platform/kit/session-key.ts'
import type { Queryable } from '@berth/platform/storage/postgres/database.ts'
import { topics } from '@berth/platform/storage/postgres/wakeups.ts'
import {
  findPausing,
  mostBudgetUsd,
  NOTICE_SHARE,
  noteAnnounced,
  type PausingBudget,
  raiseLimit,
} from '../../accounting/pausing-budgets.ts'
import { appendAudit } from '../../accounts/audit/append.ts'
import type { Context } from '../../context.ts'
import type { Principal } from '../../identity/guard/principal.ts'
import { findLiveLease } from '../leases/lease-sql.ts'
import { appendEvents } from '../log/append.ts'
import { resumeIfAnswered } from '../runs/resume-run.ts'
import { findRun, markAwaiting } from '../runs/run-sql.ts'
import { holdSession } from '../session/session-sql.ts'
import { closeInteractions } from './close-interactions.ts'
import { type InteractionRow, interactionEvent, unanswered } from './interaction.ts'
import {
  findBudgetQuestion,
  insertInteraction,
  listNeedlessBudgetQuestions,
  type NeedlessQuestion,
  nextOwnOffset,
} from './interaction-sql.ts'

type Parts = Pick<Context, 'db' | 'clock'> & { readonly wakeups: Pick<Context['wakeups'], 'publish'> }
type ResumeParts = Parts & { readonly log: Pick<Context['log'], 'warn'> }
type RunKey = SessionKey & { readonly runId: string }

/** What a person wants of a Run whose budget is reached. */
export type BudgetAnswer = { readonly kind: 'raise'; readonly byUsd: number } | { readonly kind: 'stop' }

const whose: Readonly<Record<PausingBudget['scope'], string>> = {
  session: 'This Session has',
  person: 'The person of this Session has',
  installation: 'The installation of this Session has',
  organization: 'The organization has',
}

const inPeriod: Readonly<Record<PausingBudget['period'], string>> = { day: ' today', month: ' this month', total: '' }

/** Returns an amount as people read it: to the cent, or exactly if it is less than a cent. */
const dollars = (usd: number): string => `$${usd > 0 && usd < 0.01 ? String(usd) : usd.toFixed(2)}`

/** The amount by which a limit is raised if nobody names one. */
const stepOf = ({ limit_usd }: PausingBudget): number => (limit_usd > 0 ? limit_usd : 1)

/** Returns the limit that leaves this much to spend. */
const raisedLimit = ({ limit_usd, spent_usd, reserved_usd }: PausingBudget, byUsd: number): number =>
  Number(Math.min(mostBudgetUsd, Math.max(limit_usd, spent_usd + reserved_usd) + byUsd).toFixed(6))

function requestFor(budget: PausingBudget): InteractionRequest {
  const step = stepOf(budget)
  const { scope, period, spent_usd, limit_usd, reserved_usd } = budget
  const open = reserved_usd > 0 ? `, and ${dollars(reserved_usd)} at most for requests whose cost is not known yet` : ''
  return {
    questions: [
      {
        question: `${whose[scope]} spent ${dollars(spent_usd)}${inPeriod[period]} of its budget of ${dollars(limit_usd)} for models${open}. How shall the work go on?`,
        header: 'Budget reached',
        fieldId: 'choice',
        options: [
          `Raise by ${dollars(step)}, to ${dollars(raisedLimit(budget, step))}`,
          'Raise by another amount',
          'Stop',
        ],
        optionValues: ['raise', 'amount', 'stop'],
        valueType: 'string',
      },
      {
        question: 'By how many US dollars? With "another amount".',
        header: 'Amount',
        fieldId: 'amountUsd',
        options: [],
        valueType: 'number',
        minimum: 0.01,
        maximum: 1e9,
      },
    ],
  }
}

/**
 * Asks people how a Run goes on whose budget is reached, and lets it wait. A Run is asked about once.
 * @param verdict what still has to hold under the Session's lock
 * @returns `needless` if nothing stands against the work any more: the budget was raised or removed meanwhile, or its next
 *   period has begun; `ending` if the Run is about to end, so that nobody is asked
 */
export async function askForBudget(
  { db, clock, wakeups }: Parts,
  run: RunKey,
  budgetId: string,
  verdict: 'is_reached' | 'is_used_up',
): Promise<'asked' | 'needless' | 'ending'> {
  if ((await findBudgetQuestion(db, run, run.runId)) !== null) return 'asked'
  const opened = await db.transaction(async tx => {
    await holdSession(tx, run)
    const now = clock.now()
    const budget = await findPausing(tx, run.organizationId, budgetId, now)
    const [row, lease, open] = await Promise.all([
      findRun(tx, run, run.runId),
      findLiveLease(tx, run),
      findBudgetQuestion(tx, run, run.runId),
    ])
    const waits = row?.status === 'running' || row?.status === 'awaiting'
    if (!waits || row.cancel_requested_at !== null || lease === null) return 'ending'
    if (open !== null) return 'open'
    if (budget?.[verdict] !== true) return 'needless'
    const request = requestFor(budget)
    const interaction: InteractionRow = {
      organization_id: run.organizationId,
      session_id: run.sessionId,
      id: randomUUID(),
      run_id: run.runId,
      kind: 'ask_user',
      status: 'open',
      resolution: null,
      request: JSON.stringify(request),
      lease_id: lease.id,
      journal_offset: await nextOwnOffset(tx, lease.id),
      // What "by the same amount" meant when people were asked.
      agent_request: JSON.stringify({ stepUsd: stepOf(budget) }),
      budget_id: budget.id,
      destination: null,
      request_id: null,
      deadline: null,
      opened_at: now,
      ended_at: null,
      ...unanswered,
    }
    await insertInteraction(tx, interaction)
    await markAwaiting(tx, run, run.runId, now)
    await appendEvents(
      tx,
      run,
      [...(await announcementsOf(tx, run, [budget], now)), interactionEvent(interaction, request)],
      now,
    )
    return 'opened'
  })
  if (opened === 'opened') wake(wakeups, run)
  return opened === 'ending' || opened === 'needless' ? opened : 'asked'
}

/** Tells a Session of the budgets of which at least 80 percent are spent; each is told of once. */
export async function reportBudgets(
  { db, clock, wakeups }: Parts,
  run: RunKey,
  budgets: readonly PausingBudget[],
): Promise<void> {
  const announced = await db.transaction(async tx => {
    await holdSession(tx, run)
    const now = clock.now()
    const drafts = await announcementsOf(tx, run, budgets, now)
    if (drafts.length > 0) await appendEvents(tx, run, drafts, now)
    return drafts.length > 0
  })
  if (announced) wakeups.publish(topics.session(run.organizationId, run.sessionId))
}

async function announcementsOf(
  tx: Queryable,
  { organizationId, runId }: RunKey,
  budgets: readonly PausingBudget[],
  now: Date,
) {
  const drafts = []
  for (const { id, scope, spent_usd: spentUsd, limit_usd: limitUsd, unreported } of budgets) {
    if (!unreported || !(await noteAnnounced(tx, organizationId, id, now))) continue
    drafts.push({
      type: 'svc.budget.reached' as const,
      runId,
      data: { scope, spentUsd, limitUsd, share: NOTICE_SHARE },
    })
  }
  return drafts
}

/** Lets a Run go on whose requests are within its budgets again, although nobody has answered. */
export async function withdrawBudgetQuestion({ db, clock, wakeups }: Parts, run: RunKey): Promise<void> {
  if ((await findBudgetQuestion(db, run, run.runId)) === null) return
  await db.transaction(async tx => {
    await holdSession(tx, run)
    await closeBudgetQuestion(tx, run, run.runId, clock.now())
  })
  wake(wakeups, run)
}

/**
 * Closes the open question about a Run's budget if the budget is not reached any more, and resumes the Run. The caller holds
 * the Session's lock.
 */
export async function closeBudgetQuestion(tx: Queryable, key: SessionKey, runId: string, now: Date): Promise<void> {
  const open = await findBudgetQuestion(tx, key, runId)
  if (open?.budget_id == null) return
  const budget = await findPausing(tx, key.organizationId, open.budget_id, now)
  if (budget?.is_reached === true) return
  await closeInteractions(tx, key, 'request_gone', now, { id: open.id })
  await resumeIfAnswered(tx, key, runId, now)
}

/** Runs that a caller who raised a budget waits for, or that the chore reads at once. */
const RESUMED_AT_ONCE = 20

/**
 * Lets every Run go on that waits for more of a budget which is not used up any more: it was raised or removed, or its next
 * period has begun. A Run that cannot go on holds up no other.
 */
export async function resumeWithinBudgets(parts: ResumeParts, signal: AbortSignal): Promise<void> {
  let after: NeedlessQuestion | null = null
  do {
    const page = await listNeedlessBudgetQuestions(parts.db, null, after, RESUMED_AT_ONCE, parts.clock.now())
    await resumeEach(parts, page, signal)
    after = page.length < RESUMED_AT_ONCE ? null : (page.at(-1) ?? null)
  } while (after !== null && !signal.aborted)
}

/**
 * Lets the first Runs of an organization go on at once after a budget was raised; the chore does so for the others. Nothing
 * is thrown, since the raise is committed.
 */
export async function resumeAfterRaise(parts: ResumeParts, organizationId: string): Promise<void> {
  try {
    const now = parts.clock.now()
    await resumeEach(parts, await listNeedlessBudgetQuestions(parts.db, organizationId, null, RESUMED_AT_ONCE, now))
  } catch (err) {
    parts.log.warn({ err, organizationId }, 'the Runs that wait for a budget were not found; the chore finds them')
  }
}

async function resumeEach(
  { db, clock, wakeups, log }: ResumeParts,
  questions: readonly NeedlessQuestion[],
  signal?: AbortSignal,
): Promise<void> {
  for (const { runId, organizationId, sessionId } of questions) {
    if (signal?.aborted === true) return
    const key = { organizationId, sessionId }
    try {
      await db.transaction(async tx => {
        await holdSession(tx, key)
        await closeBudgetQuestion(tx, key, runId, clock.now())
      })
      wake(wakeups, key)
    } catch (err) {
      log.warn({ err, ...key, runId }, 'a Run could not go on within its budget; the chore tries again')
    }
  }
}

/**
 * Reads the answer to the platform's question about a budget. Whoever may change a Session may change its budget; those of
 * people, installations and organizations belong to administrators, and those that an operator set to operators.
 * @throws ApiError 400 if it says neither an amount nor to stop
 * @throws ApiError 403 `insufficient_scope` if the caller may not change that budget
 */
export async function readBudgetAnswer(
  tx: Queryable,
  principal: Principal,
  {
    organization_id,
    budget_id,
    agent_request,
  }: Pick<InteractionRow, 'organization_id' | 'budget_id' | 'agent_request'>,
  content: Readonly<Record<string, unknown>>,
  now: Date,
): Promise<BudgetAnswer> {
  const { choice, amountUsd } = content
  if (choice === 'stop') return { kind: 'stop' }
  const budget = budget_id === null ? null : await findPausing(tx, organization_id, budget_id, now)
  if (budget === null) return { kind: 'raise', byUsd: 0 }
  const needed = missingAuthority(principal, budget)
  // It was raised elsewhere a moment ago: nothing stands against the work.
  if (needed !== null && !budget.is_used_up) return { kind: 'raise', byUsd: 0 }
  if (needed !== null) throw refusal('insufficient_scope', { requiredScope: needed })
  if (choice === 'raise') return { kind: 'raise', byUsd: (JSON.parse(agent_request) as { stepUsd: number }).stepUsd }
  if (typeof amountUsd === 'number' && amountUsd >= 0.01 && amountUsd <= mostBudgetUsd) {
    return { kind: 'raise', byUsd: amountUsd }
  }
  throw invalidField(
    ['message', 'amountUsd'],
    `is required, from 0.01 to ${mostBudgetUsd}; or choose to raise by the same amount, or to stop`,
  )
}

/** Returns what a caller lacks who may not raise a budget; null if they may. */
function missingAuthority(principal: Principal, { scope, set_by }: PausingBudget): string | null {
  if (scope === 'session') {
    return principal.capabilities.has('svc.cloud.sessions:create') ? null : 'svc.cloud.sessions:create'
  }
  const isAdministrator = principal.kind === 'person' && principal.role === 'admin'
  return set_by === 'organization' && isAdministrator ? null : 'organization.administer'
}

/** Raises the budget as answered, unless it is gone, and audits that. The caller holds the Session's lock. */
export async function raiseBudget(
  tx: Queryable,
  { kind, id }: Pick<Principal, 'kind' | 'id'>,
  { organizationId, sessionId }: SessionKey,
  { budgetId, byUsd }: { readonly budgetId: string; readonly byUsd: number },
  now: Date,
): Promise<void> {
  const limitUsd = byUsd > 0 ? await raiseLimit(tx, organizationId, budgetId, byUsd, now) : null
  const budget = limitUsd === null ? null : await findPausing(tx, organizationId, budgetId, now)
  if (budget === null) return
  const { scope, period, person_id, installation_id } = budget
  const target = `${scope}/${scope === 'session' ? sessionId : (person_id ?? installation_id ?? organizationId)}`
  const details = { period, byUsd, limitUsd, sessionId }
  const actor = { kind, id, name: null }
  await appendAudit(tx, { organizationId, actor, action: 'budget.raised', target, outcome: 'done', details }, now)
}

const wake = (wakeups: Parts['wakeups'], { organizationId, sessionId }: SessionKey): void =>
  wakeups.publish(topics.session(organizationId, sessionId), topics.control(organizationId, sessionId), topics.queue)
