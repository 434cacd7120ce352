import type { Queryable } from '@berth/platform/storage/postgres/database.ts'
import { holdBudgets } from './gateway-request-sql.ts'
import { holdOpen } from './pausing-budgets.ts'

/** Longer than a request takes until it is settled. */
const SETTLED_AFTER_MS = 2 * 3_600_000

/** The amount that an organization, or one of its keys, people or installations, may spend on models in each period. */
export interface Quota {
  readonly organizationId: string
  /** Of these ids one at most; without any, it is a budget of the whole organization. */
  readonly apiKeyId?: string
  readonly personId?: string
  readonly installationId?: string
  readonly period: 'day' | 'month' | 'total'
  /** Null removes the budget; absent: as it is. */
  readonly limitUsd?: number | null
  /** Whether Runs wait for people or are refused; absent: as it is, and refused at first. */
  readonly onReached?: 'pause' | 'refuse'
}

interface QuotaRow {
  readonly organization_id: string
  readonly api_key_id: string | null
  readonly person_id: string | null
  readonly installation_id: string | null
  readonly period: Quota['period']
  readonly limit_usd: number | null
  readonly removes: boolean
  readonly on_reached: Quota['onReached'] | null
}

const wanted = `wanted as (
  select * from jsonb_to_recordset($1::jsonb) as w (organization_id uuid, api_key_id uuid, person_id uuid,
    installation_id uuid, period text, limit_usd numeric, removes boolean, on_reached text, spent_usd numeric))`

const sameBudget = `b.organization_id = w.organization_id and b.session_id is null and b.period = w.period
  and b.api_key_id is not distinct from w.api_key_id and b.person_id is not distinct from w.person_id
  and b.installation_id is not distinct from w.installation_id and b.set_by = $2`

/**
 * Sets, changes or removes budgets of one organization. A new one begins with the spending of its period; one at which Runs
 * wait from now on counts it again, and holds the requests under way. No cost of the organization is settled while that is
 * read, and those of others may wait with it, so what can change no more is summed before. The locks are taken in the order of
 * `keepRequests`.
 * @param tx a transaction that has locked no row of a budget
 */
export async function setQuotas(
  tx: Queryable,
  setBy: 'operator' | 'organization',
  quotas: readonly Quota[],
  now: Date,
): Promise<void> {
  if (quotas.length === 0) return
  const { rows } = await tx.query<QuotaRow & { readonly is_new: boolean; readonly switches: boolean }>({
    text: `
      with ${wanted}
      select w.*, b.id is null and w.limit_usd is not null as is_new,
        coalesce(b.on_reached = 'refuse' and w.on_reached = 'pause', false) as switches
      from wanted w left join gateway_budgets b on ${sameBudget}`,
    values: [JSON.stringify(quotas.map(rowOf)), setBy],
  })
  const counts = rows.filter(row => row.is_new || row.switches)
  const settledBefore = new Date(now.getTime() - SETTLED_AFTER_MS)
  const sums = (from: Date | null, until: Date | null) =>
    Promise.all(counts.map(row => spentOf(tx, row, now, { from, until })))
  const earlier = await sums(null, settledBefore)
  if (counts.length > 0) await holdBudgets(tx, [counts[0]?.organization_id ?? ''], 'alone')
  const late = await sums(settledBefore, null)
  const counted = rows.map(row => {
    const at = counts.indexOf(row)
    return at < 0 ? row : { ...row, spent_usd: Number(earlier[at]) + Number(late[at]) }
  })
  await tx.query({
    text: `
      with ${wanted}, locked as materialized (
        select b.id, w.limit_usd, w.removes, w.on_reached, w.spent_usd from gateway_budgets b join wanted w on ${sameBudget}
        order by b.id for update of b
      ), removed as (
        delete from gateway_budgets b using locked l where b.id = l.id and l.removes
      )
      update gateway_budgets b set limit_usd = coalesce(l.limit_usd, b.limit_usd), on_reached = coalesce(l.on_reached, b.on_reached),
        notified_at = case when b.limit_usd = coalesce(l.limit_usd, b.limit_usd) then b.notified_at end,
        spent_usd = case when b.period_started_at >= gateway_period_start(b.period, $3)
          then greatest(b.spent_usd, l.spent_usd) else b.spent_usd end
      from locked l where l.id = b.id and not l.removes`,
    values: [JSON.stringify(counted), setBy, now],
  })
  if (counts.length === 0) return
  const added = counted.filter(row => row.is_new)
  await tx.query({
    text: `
      with ${wanted}
      insert into gateway_budgets (id, organization_id, api_key_id, person_id, installation_id, period, limit_usd, on_reached,
        period_started_at, set_by, spent_usd)
      select gen_random_uuid(), organization_id, api_key_id, person_id, installation_id, period, limit_usd,
        coalesce(on_reached, 'refuse'), gateway_period_start(period, $3), $2, spent_usd
      from wanted
      on conflict on constraint gateway_budgets_of_period do update
      set limit_usd = excluded.limit_usd, on_reached = excluded.on_reached`,
    values: [JSON.stringify(added), setBy, now],
  })
  const { rows: ids } = await tx.query<{ id: string }>({
    text: `with ${wanted} select b.id from gateway_budgets b join wanted w on ${sameBudget}`,
    values: [JSON.stringify(counts), setBy],
  })
  for (const { id } of ids) await holdOpen(tx, counts[0]?.organization_id ?? '', id)
}

/** Sums a part of the spending of a budget's current period, on `gateway_requests_of_organization`. */
async function spentOf(
  tx: Queryable,
  row: QuotaRow,
  now: Date,
  { from, until }: { readonly from: Date | null; readonly until: Date | null },
): Promise<string> {
  const { rows } = await tx.query<{ usd: string }>({
    text: `
      select coalesce(sum(cost_usd), 0) as usd from gateway_usage
      where organization_id = $1 and started_at >= gateway_period_start($2, $3) and ($4::uuid is null or api_key_id = $4)
        and ($5::uuid is null or person_id = $5) and ($6::uuid is null or installation_id = $6)
        and started_at >= coalesce($7::timestamptz, '-infinity') and started_at < coalesce($8::timestamptz, 'infinity')`,
    values: [row.organization_id, row.period, now, row.api_key_id, row.person_id, row.installation_id, from, until],
  })
  return rows[0]?.usd ?? '0'
}

const rowOf = ({
  organizationId,
  apiKeyId,
  personId,
  installationId,
  period,
  limitUsd,
  onReached,
}: Quota): QuotaRow => ({
  organization_id: organizationId,
  api_key_id: apiKeyId ?? null,
  person_id: personId ?? null,
  installation_id: installationId ?? null,
  period,
  limit_usd: limitUsd ?? null,
  removes: limitUsd === null,
  on_reached: onReached ?? null,
})

/** Sets, changes or removes a budget that an operator sets. @returns false if the organization does not have the key */
export async function setQuotaOf(db: Queryable, quota: Quota, now: Date): Promise<boolean> {
  if (quota.apiKeyId !== undefined) {
    const { rows } = await db.query({
      text: `
        select 1 from api_keys k join installations i on i.id = k.installation_id
        where k.id = $1 and i.organization_id = $2`,
      values: [quota.apiKeyId, quota.organizationId],
    })
    if (rows.length === 0) return false
  }
  await setQuotas(db, 'operator', [quota], now)
  return true
}
