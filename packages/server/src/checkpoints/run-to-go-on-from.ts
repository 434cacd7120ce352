/**
 * The newest Run whose checkpoint is the one to go on from. A Run that ended otherwise than crashed is never passed over
 * for an older one, so it may have none. One that crashed counts where it was sealed all the same, at its deadline, and
 * so does one that has not ended: it was sealed while it awaits an answer. Newest by the count of Turns, not by a clock:
 * of two processes' clocks one is behind. Of a Session that was reset none counts whose Turn came before that.
 *
 * @param session alias of a row of `sessions`
 */
export const runToGoOnFrom = (session: string): string => `
  select r.id from turns t
  join runs r on r.organization_id = t.organization_id and r.session_id = t.session_id and r.id = t.run_id
  where t.organization_id = ${session}.organization_id and t.session_id = ${session}.id
    and t.sequence >= ${session}.fresh_from_turn and r.started_at is not null
    and ((r.ended_at is not null and r.status <> 'crashed') or exists (
      select 1 from checkpoints k
      where k.organization_id = r.organization_id and k.session_id = r.session_id and k.run_id = r.id
        and k.damaged_at is null))
  order by t.sequence desc limit 1`
