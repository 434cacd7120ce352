import type { EgressHost, SessionEgress } from '@berth/contract'
import type { SessionKey } from '@berth/platform/kit/session-key.ts'
import type { Context } from '../../context.ts'
import type { Principal } from '../../identity/guard/principal.ts'
import { readSession } from '../session/read-session.ts'
import { type EgressRow, listEgress } from './egress-sql.ts'

/**
 * Returns the hosts that the sandboxes of a Session have reached, or were refused.
 * @throws ApiError 404 `cloud_session_not_found`
 */
export async function readEgress(context: Context, principal: Principal, key: SessionKey): Promise<SessionEgress> {
  await readSession(context, principal, key)
  const rows = await listEgress(context.db, key)
  const others = rows.find(({ host }) => host === '')
  return {
    hosts: rows.filter(({ host }) => host !== '').map(toHost),
    ...(others !== undefined && {
      others: {
        reached: others.reached,
        refused: others.refused,
        sentBytes: others.sent_bytes,
        receivedBytes: others.received_bytes,
      },
    }),
  }
}

const toHost = (row: EgressRow): EgressHost => ({
  host: row.host,
  port: row.port,
  reached: row.reached,
  refused: row.refused,
  sentBytes: row.sent_bytes,
  receivedBytes: row.received_bytes,
  firstAt: row.first_at.toISOString(),
  lastAt: row.last_at.toISOString(),
  ...(row.last_reason !== null && { lastReason: row.last_reason }),
  secrets: Object.entries(row.secrets).map(([name, uses]) => ({ name, uses })),
})
