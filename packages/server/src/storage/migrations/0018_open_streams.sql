-- Streams that are open, by authority and by the process that serves them, which renews its rows while it lives. Lost on
-- a crash of the database; the processes write them again with their next renewal.
create unlogged table open_streams (
  authority text not null,
  holder uuid not null,
  held integer not null check (held > 0),
  expires_at timestamptz not null,
  primary key (authority, holder)
);
create index open_streams_of_holder on open_streams (holder);

-- Grants a process as many further streams of an authority as are wanted and left of its bound, and writes how many it
-- holds. One call at a time for each authority: two processes cannot both take the last place.
create function hold_streams(
  for_authority text, by_holder uuid, already integer, wanted integer, bound integer, life interval)
returns integer language plpgsql as $$
declare
  elsewhere integer;
  granted integer;
begin
  perform pg_advisory_xact_lock(hashtextextended('open_streams/' || for_authority, 0));
  select coalesce(sum(held), 0) into elsewhere from open_streams
    where authority = for_authority and holder <> by_holder and expires_at > clock_timestamp();
  granted := greatest(0, least(wanted, bound - elsewhere - already));
  if already + granted = 0 then
    delete from open_streams where authority = for_authority and holder = by_holder;
  else
    insert into open_streams as s (authority, holder, held, expires_at)
      values (for_authority, by_holder, already + granted, clock_timestamp() + life)
      on conflict (authority, holder) do update set held = excluded.held, expires_at = excluded.expires_at;
  end if;
  return granted;
end $$;
