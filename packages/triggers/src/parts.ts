import type { Context } from '@berth/core/context.ts'
import type { Service } from '@berth/platform/kit/service.ts'
import { ReportWorker } from './reports/report-worker.ts'
import { TriggerWorker } from './trigger-worker.ts'

export { triggerHandlers } from './routes.ts'
export { triggerChores } from './trigger-chores.ts'

/** Returns the services of triggers, for every process that answers the API. */
export const triggerServices = (context: Context): readonly Service[] => [
  new TriggerWorker(context),
  new ReportWorker(context),
]
