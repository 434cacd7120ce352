/**
 * SQL for the newest Run whose checkpoint the Session continues from. A Run that ended without crashing is never passed
 * over for an older one, even if it has no checkpoint. A crashed Run counts if it was sealed at its deadline. A Run
 * that has not ended counts if it was sealed while parked. The order is that of the Turns, because the clocks of two
 * processes may disagree. After a reset no Run of an earlier Turn counts.
 *
 * @param session alias of a row of `sessions`
 */
export const continuationRun = (session: string): string => `
  select r.id from turns t
  join runs r on r.organization_id = t.organization_id and r.session_id = t.session_id and r.id = t.run_id
  where t.organization_id = ${session}.organization_id and t.session_id = ${session}.id
    and t.sequence >= ${session}.fresh_from_turn and r.started_at is not null
    and ((r.ended_at is not null and r.status <> 'crashed') or exists (
      select 1 from checkpoints k
      where k.organization_id = r.organization_id and k.session_id = r.session_id and k.run_id = r.id
        and k.damaged_at is null))
  order by t.sequence desc limit 1`
