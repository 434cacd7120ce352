-- `turn_count` at the time when the Run of the newest Turn had an intact checkpoint. While the two are equal, the Session's
-- work cannot be lost, so lists judge the others only. A new Turn makes them differ; a checkpoint that comes, goes or turns
-- out to be damaged is noted by a trigger, because processes of the release before this one write checkpoints as well.
alter table sessions add column sealed_turns integer;

create function note_sealed_turns() returns trigger language plpgsql as $$
declare
  changed checkpoints;
  sealed integer;
begin
  if tg_op = 'DELETE' then changed := old; else changed := new; end if;
  -- The row is locked before the checkpoints are read: of two changes at a time the later one sees both.
  perform from sessions where organization_id = changed.organization_id and id = changed.session_id for no key update;
  select s.turn_count into sealed from sessions s
  join turns t on t.organization_id = s.organization_id and t.session_id = s.id and t.sequence = s.turn_count - 1
  join checkpoints k on k.organization_id = s.organization_id and k.session_id = s.id and k.run_id = t.run_id
  where s.organization_id = changed.organization_id and s.id = changed.session_id and k.damaged_at is null;
  update sessions set sealed_turns = sealed
  where organization_id = changed.organization_id and id = changed.session_id and sealed_turns is distinct from sealed;
  return null;
end $$;
create trigger checkpoints_seal_turns after insert or update or delete on checkpoints
  for each row execute function note_sealed_turns();
