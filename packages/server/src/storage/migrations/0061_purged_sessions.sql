-- Ids of Sessions whose rows are gone. A caller that still repeats its first request must not make such a Session anew.
create table purged_sessions (
  organization_id uuid not null,
  id uuid not null,
  purged_at timestamptz not null,
  primary key (organization_id, id)
);

-- Deletes the log of a Session that has been archived for a day at least. It runs with the rights of the tables' owner:
-- the service's role may not delete Events by itself.
create function purge_events(of_organization uuid, of_session uuid) returns bigint
language plpgsql security definer set search_path from current as $$
declare
  purged bigint;
begin
  perform from sessions s
    where s.organization_id = of_organization and s.id = of_session and s.archived_at <= now() - interval '1 day';
  if not found then
    raise exception 'only the log of a session that was archived a day ago can be purged'
      using errcode = 'restrict_violation';
  end if;
  perform set_config('berth.purging', of_session::text, true);
  delete from events e where e.organization_id = of_organization and e.session_id = of_session;
  get diagnostics purged = row_count;
  perform set_config('berth.purging', '', true);
  return purged;
end $$;

create or replace function refuse_change() returns trigger language plpgsql as $$
begin
  if tg_op = 'DELETE' and current_setting('berth.purging', true) = old.session_id::text then
    return old;
  end if;
  raise exception 'events are append-only' using errcode = 'restrict_violation';
end $$;
