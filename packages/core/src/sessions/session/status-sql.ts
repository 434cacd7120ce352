import { type SessionStatus, type StatusFact, statusRule } from '@berth/contract'
import { hasLostWork } from './lost-work-sql.ts'

const of = (alias: string) => `${alias}.organization_id = s.organization_id and ${alias}.session_id = s.id`

/**
 * Joins of a row `s` of `sessions` that tell its status: its newest Run (`last`), except one that a fork copied or that
 * a reset left behind, its newest pull request (`p`), and its newest revision since then (`v`).
 */
export const statusJoins = `
  left join lateral (
    select r.id, r.turn_id, r.status, r.stop_reason, r.error_code, r.turns, r.ended_at
    from turns t join runs r on ${of('r')} and r.id = t.run_id
    where ${of('t')} and t.sequence >= s.fresh_from_turn
      and (r.ended_at is null or r.ended_at >= s.created_at)
    order by t.sequence desc limit 1
  ) last on true
  left join lateral (
    select greatest(d.created_at, m.ended_at) as moved_at, d.result -> 'pullRequest' as pull, m.status as merge_status
    from publications d left join lateral (
      select g.status, case when g.status = 'succeeded' then g.ended_at end as ended_at
      from merges g where ${of('g')} and g.publication_id = d.id order by g.created_at desc, g.id desc limit 1
    ) m on true where ${of('d')} and d.result -> 'pullRequest' is not null
    order by d.created_at desc, d.id desc limit 1
  ) p on true
  left join lateral (
    select w.revision, w.base_tree, w.head_tree, w.files, w.additions, w.deletions
    from review_requests q join reviews w on ${of('w')} and w.revision = q.revision
    where ${of('q')} and (s.fresh_from_turn = 0 or w.created_at >= s.first_run_started_at) limit 1
  ) v on true`

const notPublishedSince = 'coalesce(p.moved_at < last.ended_at, true)'

/** Each fact of the rule about a row `s` with its joins. */
const facts: Readonly<Record<StatusFact, string>> = {
  asks: `exists (select from interactions i where ${of('i')} and i.status = 'open')`,
  lostWork: hasLostWork('s'),
  works: `(exists (select from runs w where ${of('w')} and w.ended_at is null)
    or exists (select from executions x where ${of('x')} and x.task = 'seal'))`,
  failed: `(last.status in ('failed', 'crashed') and ${notPublishedSince})`,
  stopped: `((last.status = 'cancelled' or last.stop_reason <> 'completed') and ${notPublishedSince})`,
  hasUnpublishedChanges: `(v.head_tree <> v.base_tree and not exists (
    select from publications d where ${of('d')} and d.revision = v.revision and d.status = 'succeeded'))`,
  isMerged: `p.merge_status = 'succeeded'`,
  hasPullRequest: 'p.pull is not null',
}

/** The status by the rule. */
const statusCase = `case ${statusRule.map(({ fact, status }) => `when ${facts[fact]} then '${status}'`).join(' ')} else 'done' end`

/** Columns of the status, and of the newest Run and revision as the API has them. */
export const statusColumns = `
  ${statusCase} as status,
  case when last.id is not null then jsonb_strip_nulls(jsonb_build_object('id', last.id, 'status', last.status,
    'stopReason', last.stop_reason, 'errorCode', last.error_code, 'turns', last.turns, 'turnSequence', (
      select t.sequence from turns t where ${of('t')} and t.id = last.turn_id))) end as last_run,
  case when v.revision is not null then jsonb_build_object('revision', v.revision, 'files', v.files,
    'additions', v.additions, 'deletions', v.deletions) end as changes`

const cutShort = `select session_id from runs where organization_id = $1
  and (status in ('failed', 'cancelled', 'crashed') or stop_reason <> 'completed')`
const delivered = `select session_id from publications where organization_id = $1 and result is not null`

/** The few Sessions of the organization `$1` that may have a status, from indexes, where not almost every one may. */
const candidates: Partial<Readonly<Record<SessionStatus, string>>> = {
  failed: cutShort,
  stopped: cutShort,
  ready_to_review: `select v.session_id from review_requests q
    join reviews v using (organization_id, session_id, revision)
    where q.organization_id = $1 and v.head_tree <> v.base_tree`,
  merged: delivered,
  pull_request_open: delivered,
}

/** SQL that is true of the rows `s`, with their joins, that have a status. `$1` is the organization. */
export function hasStatus(status: SessionStatus): string {
  const some = candidates[status]
  return `${some === undefined ? '' : `s.id in (${some}) and `}${statusCase} = '${status}'`
}
