import type { TriggerDeliver } from '@berth/contract'
import { ClaimedRows } from '@berth/platform/storage/postgres/claimed-rows.ts'
import type { Queryable } from '@berth/platform/storage/postgres/database.ts'
import type { DeliveryRow } from '../delivery-sql.ts'

/** A delivery whose changes can be brought a step further now. */
export interface DueChanges extends DeliveryRow {
  readonly claim: string
  readonly installation_id: string
  readonly session_id: string
  readonly deliver: TriggerDeliver
}

type Columns = DeliveryRow & { readonly due_at: Date }

/**
 * Deliveries whose changes are to be published, on `trigger_deliveries_publishing`. One is due while nothing goes on that it
 * waits for: a Run of its Session or the seal of one, its verification, its Publication. None of an organization in `$4`.
 */
const changes = new ClaimedRows<Columns>({
  table: 'trigger_deliveries',
  work: 'trigger_changes',
  key: ['organization_id', 'trigger_id', 'key'],
  due: `
    r.deliver_state in ('waiting', 'verifying', 'publishing') and r.due_at <= $1 and r.organization_id <> all ($4::uuid[])
    and not exists (
      select from runs u
      where u.organization_id = r.organization_id and u.session_id = r.session_id and u.ended_at is null)
    and not exists (
      select from executions e
      where e.organization_id = r.organization_id and e.session_id = r.session_id and e.task = 'seal')
    and not exists (
      select from verifications v
      where v.organization_id = r.organization_id and v.session_id = r.session_id and v.id = r.verification_id
        and v.ended_at is null)
    and not exists (
      select from publications p
      where p.organization_id = r.organization_id and p.session_id = r.session_id and p.id = r.publication_id
        and p.ended_at is null)`,
  order: 'r.due_at',
  join: {
    clause: 'join triggers t on t.organization_id = r.organization_id and t.id = r.trigger_id',
    columns: { installation_id: 't.installation_id' },
  },
})

/** Claims changes that can be brought further, of no organization that is excepted; null if there are none. */
export async function claimChanges(
  db: Queryable,
  by: { readonly now: Date; readonly until: Date },
  except: readonly string[],
): Promise<DueChanges | null> {
  const [due] = await changes.claim<Omit<DueChanges, keyof DeliveryRow>>(db, by, 1, [except])
  return (due as DueChanges | undefined) ?? null
}

/** Records how far the changes are, and gives them back; nothing if another process has claimed them meanwhile. */
export const releaseChanges = (db: Queryable, { claim }: DueChanges, columns: Partial<Columns>): Promise<unknown> =>
  changes.release(db, claim, columns)
