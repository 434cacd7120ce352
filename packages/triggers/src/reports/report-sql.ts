import { ClaimedRows } from '@berth/platform/storage/postgres/claimed-rows.ts'
import { type Queryable, queryRow } from '@berth/platform/storage/postgres/database.ts'
import type { DeliveryRow } from '../delivery-sql.ts'
import { derivedId } from '../derived-id.ts'
import type { GitHubEvent } from '../github/github-event.ts'

export interface ReportRow {
  readonly organization_id: string
  readonly trigger_id: string
  readonly key: string
  readonly session_id: string
  readonly run_id: string
  readonly reported: 'nothing' | 'begun' | 'asking' | 'ended' | 'delivered'
  readonly comment_id: string | null
  readonly comment_url: string | null
  readonly comment_error: string | null
  readonly check_id: string | null
  readonly check_error: string | null
  readonly failures: number
  readonly created_at: Date
  readonly due_at: Date
  readonly ended_at: Date | null
}

/** A report that has something to tell now, with the event that it answers. */
export interface DueReport extends ReportRow {
  readonly claim: string
  readonly event: GitHubEvent
  readonly head_oid: string | null
  readonly installation_id: string
}

/** For so long after its Run has ended a report waits for a Publication. */
const PUBLICATION_TIME = "interval '7 days'"

const RUN_OF_REPORT = 'u.organization_id = r.organization_id and u.session_id = r.session_id and u.id = r.run_id'

/**
 * Reports that have something to tell: that the Run has begun, asks or goes on, how it ended, what became of its changes, or,
 * for the newest of a Session, that they were published since. `$4` says whether to look for Publications, which costs a look at each report that waits
 * for one; none of an organization in `$5`.
 */
const reports = new ClaimedRows<ReportRow>({
  table: 'trigger_reports',
  key: ['organization_id', 'trigger_id', 'key'],
  due: `r.ended_at is null and r.due_at <= $1 and r.organization_id <> all ($5::uuid[]) and (
    r.reported = 'nothing'
    or r.reported in ('begun', 'asking') and exists (
      select from runs u
      where ${RUN_OF_REPORT} and (u.ended_at is not null or (u.status = 'awaiting') <> (r.reported = 'asking')))
    or r.reported = 'ended' and d.deliver_state in ('published', 'unchanged', 'failed')
    or r.reported = 'ended' and d.deliver_state is null and $4 and exists (
      select from publications p
      where p.organization_id = r.organization_id and p.session_id = r.session_id
        and p.result -> 'pullRequest' is not null)
    or r.reported = 'ended' and d.deliver_state is null and $4 and r.due_at < $1::timestamptz - ${PUBLICATION_TIME})`,
  order: 'r.due_at',
  join: {
    clause: `join trigger_deliveries d using (organization_id, trigger_id, key)
      join triggers t on t.organization_id = d.organization_id and t.id = d.trigger_id`,
    columns: { event: 'd.event', head_oid: 'd.head_oid', installation_id: 't.installation_id' },
  },
})

/** Claims a report that has something to tell now, of no organization that is excepted; null if there is none. */
export async function claimReport(
  db: Queryable,
  by: { readonly now: Date; readonly until: Date },
  of: { readonly withPublications: boolean; readonly except: readonly string[] },
): Promise<DueReport | null> {
  const [due] = await reports.claim<DueReport>(db, by, 1, [of.withPublications, of.except])
  return due ?? null
}

/** Records the progress of a report, and gives it back; nothing if another process has claimed it meanwhile. */
export const releaseReport = (db: Queryable, { claim }: DueReport, columns: Partial<ReportRow>): Promise<unknown> =>
  reports.release(db, claim, columns)

/** Closes the reports of a Session that wait only for a Publication by people: the next one of its Turns tells of that. */
export async function closeReportsOf(
  db: Queryable,
  organizationId: string,
  sessionId: string,
  now: Date,
): Promise<void> {
  await db.query({
    text: `
      update trigger_reports r set ended_at = $3 from trigger_deliveries d
      where r.organization_id = $1 and r.session_id = $2 and r.ended_at is null and r.reported = 'ended' and r.claim is null
        and (d.organization_id, d.trigger_id, d.key) = (r.organization_id, r.trigger_id, r.key) and d.deliver_state is null`,
    values: [organizationId, sessionId, now],
  })
}

/** Opens the report of a delivery that is an event of GitHub, once its Turn has been made. */
export async function openReport(db: Queryable, due: DeliveryRow, sessionId: string, now: Date): Promise<void> {
  await db.query({
    name: 'open-trigger-report',
    text: `
      insert into trigger_reports (organization_id, trigger_id, key, session_id, run_id, reported, created_at, due_at)
      select d.organization_id, d.trigger_id, d.key, t.session_id, t.run_id,
        'nothing', $6, $6
      from trigger_deliveries d
      join turns t on t.organization_id = d.organization_id and t.session_id = $4 and t.id = $5
      where d.organization_id = $1 and d.trigger_id = $2 and d.key = $3 and d.event is not null
      on conflict do nothing`,
    values: [due.organization_id, due.trigger_id, due.key, sessionId, derivedId('turn', due.trigger_id, due.key), now],
  })
}

/** How the Run of a report stands. */
export interface ReportedRun {
  readonly status: string
  readonly error_code: string | null
  readonly summary: string | null
  readonly ended_at: Date | null
  /** How far the trigger's own Publication of its changes is; null if people publish. */
  readonly deliver_state: DeliveryRow['deliver_state']
  readonly deliver_error: string | null
  /** Names of the required checks that failed in the verification of its changes. */
  readonly failed_checks: readonly string[]
  /** Where the trigger has pushed its changes to without a pull request. */
  readonly pushed: { readonly branch: string; readonly commitSha: string } | null
  /** A later Turn of the Session has a report, to which its pull requests belong from then on. */
  readonly has_next: boolean
  /**
   * The pull request of the trigger's own Publication, or else the one that the Session published last, on
   * `publications_in_order`; null for all but the last report.
   */
  readonly pull_url: string | null
  readonly pull_number: string | null
}

/** Reads the Run of a report; null if its Session has been purged. */
export async function readReportedRun(db: Queryable, report: ReportRow): Promise<ReportedRun | null> {
  return await queryRow<ReportedRun>(db, {
    name: 'read-reported-run',
    text: `
      select r.status, r.error_code, r.result ->> 'summary' as summary, r.ended_at,
        n.has_next, p.pull ->> 'url' as pull_url, p.pull ->> 'number' as pull_number,
        d.deliver_state, d.deliver_error,
        case when o.result -> 'pullRequest' is null then o.result end as pushed,
        array(
          select c ->> 'name' from verifications v cross join jsonb_array_elements(v.results) c
          where v.organization_id = d.organization_id and v.session_id = d.session_id and v.id = d.verification_id
            and c ->> 'state' = 'failed' and (c -> 'required')::boolean) as failed_checks
      from runs r
      join trigger_deliveries d on d.organization_id = r.organization_id and d.trigger_id = $5 and d.key = $6
      left join publications o
        on o.organization_id = d.organization_id and o.session_id = d.session_id and o.id = d.publication_id
      cross join lateral (
        select exists (
          select from trigger_reports t
          where t.organization_id = r.organization_id and t.session_id = r.session_id and t.ended_at is null
            and t.created_at > $4) as has_next) n
      left join lateral (
        select p.result -> 'pullRequest' as pull from publications p
        where p.organization_id = r.organization_id and p.session_id = r.session_id
          and p.result -> 'pullRequest' is not null
          and case when d.deliver_state is null then not n.has_next else p.id = d.publication_id end
        order by p.created_at desc, p.id desc limit 1) p on true
      where r.organization_id = $1 and r.session_id = $2 and r.id = $3`,
    values: [
      report.organization_id,
      report.session_id,
      report.run_id,
      report.created_at,
      report.trigger_id,
      report.key,
    ],
  })
}
