import { Readable } from 'node:stream'
import { appendAudit } from '@berth/core/accounts/audit/append.ts'
import { personEntry } from '@berth/core/accounts/audit/person-entry.ts'
import { auditFacets, auditFilter, auditLines, pageAudit, withFamily } from '@berth/core/accounts/audit/read-audit.ts'
import type { Context } from '@berth/core/context.ts'
import type { Handlers } from '@berth/core/http/routing/handler.ts'
import { findIdsNamed, findNames } from './names-sql.ts'

/** Serves the audit log to administrators. */
export function auditHandlers(
  context: Pick<Context, 'db' | 'clock'>,
): Pick<Handlers, 'readAudit' | 'getAuditFacets' | 'exportAudit'> {
  const { db, clock } = context
  return {
    readAudit: async ({ principal: { organizationId }, query }) => ({
      status: 200,
      body: await pageAudit(context, organizationId, withFamily(query), findNames, findIdsNamed),
    }),
    getAuditFacets: async ({ principal: { organizationId } }) => ({
      status: 200,
      body: await auditFacets(context, organizationId),
    }),
    exportAudit: async ({ principal, query, clientAddress }) => {
      await appendAudit(db, personEntry(principal, clientAddress, 'audit.exported', { details: query }), clock.now())
      const day = clock.now().toISOString().slice(0, 10)
      const headers = {
        'content-type': 'application/x-ndjson; charset=utf-8',
        'content-disposition': `attachment; filename="audit-${day}.ndjson"`,
      }
      const filter = await auditFilter(context, principal.organizationId, withFamily(query), findIdsNamed)
      return {
        status: 200,
        bytes: Readable.from(auditLines(context, filter, findNames)),
        headers,
      }
    },
  }
}
