import type { Queryable } from '@berth/platform/storage/postgres/database.ts'
import type { ApplyReport } from './apply-report.ts'
import type { LeaseRow } from './lease-sql.ts'

/**
 * Records that an apply has begun whose sandbox is not made yet, because that takes long.
 * @returns the lease as it is now
 */
export async function markBegun(
  tx: Queryable,
  leaseId: string,
  apply: Pick<ApplyReport, 'startedAt' | 'name' | 'runId'>,
): Promise<LeaseRow> {
  return lease(
    await tx.query<LeaseRow>({
      text: "update leases set apply = $2 where id = $1 and state = 'creating' and apply is null returning *",
      values: [leaseId, JSON.stringify(apply)],
    }),
  )
}

/**
 * Records that the sandbox stands and its environment is being applied.
 * @returns the lease as it is now, and whether the apply had begun before
 */
export async function markApplying(
  tx: Queryable,
  leaseId: string,
  apply: ApplyReport,
): Promise<LeaseRow & { readonly had_begun: boolean }> {
  return lease(
    await tx.query<LeaseRow & { readonly had_begun: boolean }>({
      text: `
        with begun as (
          select id, apply from leases where id = $1 and state = 'creating' for update
        )
        update leases l set state = 'applying', apply = $2::jsonb || coalesce(begun.apply, '{}')
        from begun where l.id = begun.id
        returning l.*, begun.apply is not null as had_begun`,
      values: [leaseId, JSON.stringify(apply)],
    }),
  )
}

/**
 * Adds results to the report of an apply. Behind an ended process the journal begins anew for the next reader.
 * @returns the lease as it is now
 */
export async function saveApplied(tx: Queryable, leaseId: string, patch: Partial<ApplyReport>): Promise<LeaseRow> {
  return lease(
    await tx.query<LeaseRow>({
      text: `
        update leases set apply = apply || $2::jsonb,
          journal_offset = greatest(journal_offset, ($2::jsonb ->> 'journal')::bigint),
          replay_from = greatest(replay_from, ($2::jsonb ->> 'journal')::bigint)
        where id = $1 and (state = 'applying' or state = 'creating' and apply is not null) returning *`,
      values: [leaseId, JSON.stringify(patch)],
    }),
  )
}

/** Attaches a lease whose environment is applied; its idle time begins now. @returns the lease as it is now */
export async function attachApplied(tx: Queryable, leaseId: string, now: Date): Promise<LeaseRow> {
  return lease(
    await tx.query<LeaseRow>({
      text: `
        update leases
        set state = 'attached', attached_at = $2, expires_at = least(bound_at, $2::timestamptz + idle_ms * interval '1 millisecond')
        where id = $1 and state = 'applying' returning *`,
      values: [leaseId, now],
    }),
  )
}

function lease<Row extends LeaseRow>({ rows }: { readonly rows: readonly Row[] }): Row {
  const [row] = rows
  if (row === undefined) throw new Error('the lease is not in the state that its worker left it in')
  return row
}
