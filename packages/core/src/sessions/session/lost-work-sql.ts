import { continuationRun } from '../../checkpoints/continuation-run.ts'

/**
 * SQL that is true if a person has to do something about a Session whose last Run left nothing to continue from: its
 * `continuation.reason` is `checkpoint_missing`, and nothing works in it. It looks back thirty days, so that a list
 * judges only Sessions that changed since, on the index by `listed_at`. Most of those are sealed up to their newest Turn,
 * as each change of checkpoints notes: with 20,000 of them, judging each took 1.3 s.
 *
 * @param session alias of a row of `sessions`
 */
export const hasLostWork = (session: string): string => {
  const same = (row: string) =>
    `${row}.organization_id = ${session}.organization_id and ${row}.session_id = ${session}.id`
  return `(
    ${session}.first_run_started_at is not null and ${session}.archived_at is null
    and ${session}.listed_at > now() at time zone 'UTC' - interval '30 days'
    and ${session}.sealed_turns is distinct from ${session}.turn_count
    and not exists (
      select from (${continuationRun(session)}) settled
      join checkpoints k on ${same('k')} and k.run_id = settled.id and k.damaged_at is null)
    and not exists (select from leases l where ${same('l')} and l.state in ('creating', 'applying', 'attached'))
    and not exists (select from runs w where ${same('w')} and w.ended_at is null)
    and not exists (select from executions x where ${same('x')} and x.task is not null))`
}
