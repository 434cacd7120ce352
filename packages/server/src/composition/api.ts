import type { Context } from '@berth/core/context.ts'
import type { Handlers } from '@berth/core/http/routing/handler.ts'
import { EventStreams } from '@berth/core/sessions/streams/event-streams.ts'
import { StreamBudget } from '@berth/core/sessions/streams/stream-budget.ts'
import { StreamLedger } from '@berth/core/sessions/streams/stream-ledger.ts'
import { PeriodicTasks } from '@berth/platform/kit/periodic-tasks.ts'
import type { Settings } from '@berth/platform/settings/settings.ts'
import { type ApiPlaces, apiHandlers } from './api-handlers.ts'
import { extensionCatalog } from './extension-catalog.ts'

/** Opens the API: its operations, and the ledger of the event streams that it serves. */
export async function openApi(
  context: Context,
  settings: Settings,
  places: ApiPlaces,
  stack: AsyncDisposableStack,
): Promise<Handlers> {
  const { compute, dataDir, leases, streams, config } = settings
  const ledger = stack.use(new StreamLedger(context.db, context.log, streams.perAuthority))
  await stack.use(new PeriodicTasks([ledger])).start()
  return apiHandlers(
    context,
    { kind: compute.kind, leaseIdleMs: leases.idleMs, leaseMaxMs: leases.maxMs },
    {
      streams: new EventStreams(context),
      budget: new StreamBudget(ledger, streams.perProcess),
      life: { ...streams.life, random: Math.random },
    },
    config,
    { budgets: settings.worker.budgets, rate: settings.limits.authority, auditMs: settings.accounts.auditMs },
    { spoolDirectory: dataDir, catalog: extensionCatalog(context, settings), trialMs: leases.trialMs },
    places,
  )
}
