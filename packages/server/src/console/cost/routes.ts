import { usageMembers } from '@berth/core/accounting/cost.ts'
import { usageOfRun } from '@berth/core/accounting/usage-of-run.ts'
import type { Context } from '@berth/core/context.ts'
import type { Handlers } from '@berth/core/http/routing/handler.ts'
import { findRunBudgets } from '@berth/core/sessions/runs/run-budgets.ts'
import { readSession } from '@berth/core/sessions/session/read-session.ts'
import type { RunBudgets } from '@berth/platform/settings/run-budgets.ts'
import { personOf } from '../person-of.ts'
import { addUsage, listNearBudgets, sumEndedRuns } from './cost-sql.ts'

/** Serves the cost of a Session while it works. @param deployment the budgets of a Run that the deployment sets */
export function costHandlers(
  context: Context,
  { budgets: deployment }: { readonly budgets: RunBudgets },
): Pick<Handlers, 'getSessionCost'> {
  const { db } = context
  return {
    getSessionCost: async ({ principal, params: { sessionId } }) => {
      const person = personOf(principal)
      const { organizationId } = person
      const key = { organizationId, sessionId }
      const { active_run_id: runId } = await readSession(context, person, key)
      const [{ usd, complete, time, ...usage }, near] = await Promise.all([
        sumEndedRuns(db, key),
        listNearBudgets(db, key, person, context.clock.now()),
      ])
      if (runId === null) {
        const cost = { costUsd: usd, costComplete: complete, ...usageMembers(usage), time, run: null, near }
        return { status: 200, body: cost }
      }
      const [used, { costUsd: limitUsd = null }] = await Promise.all([
        usageOfRun(db, { ...key, runId }),
        findRunBudgets(db, organizationId, deployment),
      ])
      const body = {
        costUsd: usd + used.costUsd,
        costComplete: complete && used.costComplete,
        ...usageMembers(addUsage(usage, used.usage)),
        time,
        run: { costUsd: used.costUsd, limitUsd },
        near,
      }
      return { status: 200, body }
    },
  }
}
