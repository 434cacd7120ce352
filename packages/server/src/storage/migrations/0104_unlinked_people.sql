-- A recovery, or another organization, unlinks what others may have linked to an account. An API whose account service has
-- another database keeps accounts at Git hosts itself, so it hears of it.
alter table people add column unlinked_at timestamptz;

drop trigger people_standing on people;
create trigger people_standing after update on people for each row
  when ((old.disabled_at, old.unlinked_at) is distinct from (new.disabled_at, new.unlinked_at))
  execute function note_standing('person');
