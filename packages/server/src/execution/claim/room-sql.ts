/** A sandbox that a claim is to have. It takes room until its lease has a row. */
export interface Pending {
  readonly organizationId: string
  readonly sessionId: string
  readonly host: string
}

/** Returns the columns of sandboxes that are to be made, for `roomOf`. */
export const pendingColumns = (pending: readonly Pending[]): readonly (readonly string[])[] => [
  pending.map(({ organizationId }) => organizationId),
  pending.map(({ sessionId }) => sessionId),
  pending.map(({ host }) => host),
]

/**
 * SQL: how many sandboxes more a host may hold, on `leases_of_host`.
 * @param boundless expression for a host without a capacity
 * @param pending parameters with the columns of `pendingColumns`
 */
export const roomOf = (host: string, boundless: string, ...pending: readonly [string, string, string]): string => `
  case when ${host}.capacity is null then ${boundless} else
    ${host}.capacity
    - (select count(*) from leases l where l.host = ${host}.id and l.ended_at is null)
    - (select count(*) from unnest(${pending[0]}::uuid[], ${pending[1]}::uuid[], ${pending[2]}::text[])
         as p (organization_id, session_id, host)
       where p.host = ${host}.id and not exists (
         select 1 from leases l
         where l.organization_id = p.organization_id and l.session_id = p.session_id and l.ended_at is null))
  end`
