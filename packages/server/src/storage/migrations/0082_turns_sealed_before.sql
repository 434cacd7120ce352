-- Apart from the column and its trigger, whose locks would keep everybody from reading Sessions meanwhile. Without it lists judge
-- each of these Sessions by itself.
-- Lists look back thirty days.
update sessions s set sealed_turns = s.turn_count
from turns t, checkpoints k
where t.organization_id = s.organization_id and t.session_id = s.id and t.sequence = s.turn_count - 1
  and k.organization_id = s.organization_id and k.session_id = s.id and k.run_id = t.run_id and k.damaged_at is null
  and s.archived_at is null and s.updated_at > now() - interval '31 days';
