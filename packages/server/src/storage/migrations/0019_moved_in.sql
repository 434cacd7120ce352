-- In which transaction a Session changed last, for the feed of changes: its positions are numbers of transactions, since
-- what is dated before it is committed cannot be ordered by its date. Kept in steps of 4096: while it stands still, an
-- append leaves the row on its page and writes to no index.
alter table sessions add column moved_in bigint not null default (pg_current_xact_id()::text::bigint >> 12);

create function note_move() returns trigger language plpgsql as $$
begin
  new.moved_in := pg_current_xact_id()::text::bigint >> 12;
  return new;
end $$;
create trigger sessions_move before update on sessions for each row
  when (old.moved_in is distinct from (pg_current_xact_id()::text::bigint >> 12)) execute function note_move();

create index sessions_moved on sessions (organization_id, owner_id, moved_in);
