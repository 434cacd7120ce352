-- PostgreSQL locks a row before it calls a BEFORE UPDATE trigger, whether or not its condition holds: every append wrote a
-- lock to the write-ahead log and then the row. An AFTER trigger locks nothing. Appends now set `moved_in` themselves, so
-- the trigger corrects only the statements that do not, and at most once per step of 4096 transactions.
drop trigger sessions_move on sessions;

create or replace function note_move() returns trigger language plpgsql as $$
begin
  update sessions set moved_in = pg_current_xact_id()::text::bigint >> 12
  where organization_id = new.organization_id and id = new.id;
  return null;
end $$;
create trigger sessions_move after update on sessions for each row
  when (new.moved_in is distinct from (pg_current_xact_id()::text::bigint >> 12)) execute function note_move();
