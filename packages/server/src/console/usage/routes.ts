import { Readable } from 'node:stream'
import type { Context } from '@berth/core/context.ts'
import type { Handlers } from '@berth/core/http/routing/handler.ts'
import { personOf } from '../person-of.ts'
import { makeReport } from './report-usage.ts'
import { exportUsage } from './usage-csv.ts'

/** Serves people's use of models. */
export function usageHandlers(context: Pick<Context, 'db' | 'clock'>): Pick<Handlers, 'getUsage' | 'exportUsage'> {
  return {
    getUsage: async ({ principal, query }) => ({
      status: 200,
      body: await makeReport(context, personOf(principal), query),
    }),
    exportUsage: async ({ principal, query }) => {
      const { name, text } = exportUsage(context, personOf(principal), query)
      const headers = {
        'content-type': 'text/csv; charset=utf-8',
        'content-disposition': `attachment; filename="${name}"`,
      }
      return { status: 200, bytes: Readable.from(text), headers }
    },
  }
}
