-- Stretches of logs of archived Sessions that lie in the blob store instead of in rows of `events`. They begin with the first
-- Event and leave no gap. The newest Event of a log stays a row, so an empty answer of `events` still means that there is
-- nothing newer, and an answer that begins later than asked means that the Events before it are here.
create table event_pages (
  organization_id uuid not null,
  session_id uuid not null,
  first_sequence bigint not null check (first_sequence >= 1),
  last_sequence bigint not null check (last_sequence >= first_sequence),
  -- The blob: the envelopes, one a line, compressed.
  sha256 text not null,
  size_bytes bigint not null,
  -- The same without compression.
  text_sha256 text not null,
  sealed_at timestamptz not null,
  primary key (organization_id, session_id, last_sequence)
);

alter table sessions add column log_sealed boolean not null default false;

-- Nothing moves for those who follow a Session when its log is put elsewhere.
drop trigger sessions_move on sessions;
create trigger sessions_move after update on sessions for each row
  when (new.moved_in is distinct from (pg_current_xact_id()::text::bigint >> 12) and new.log_sealed = old.log_sealed)
  execute function note_move();

-- A delivery of a sealed Event has the Event's text of its own.
alter table webhook_deliveries drop constraint webhook_deliveries_check1;
alter table webhook_deliveries add constraint webhook_deliveries_content
  check ((body is not null or sequence is not null) and (session_id is null) = (sequence is null)) not valid;

-- Puts a page that is in the blob store in the place of the Events after the last page. It runs with the rights of the tables'
-- owner, since the service's role may not delete Events, and believes nothing: the Session has been archived for a day, and
-- the digest is that of exactly these Events.
create function seal_events(
  of_organization uuid, of_session uuid, through bigint, blob text, blob_bytes bigint, text_digest text
) returns bigint
language plpgsql security definer set search_path from current as $$
declare
  newest bigint;
  first bigint;
  found_events bigint;
  found_digest text;
begin
  select s.last_event_sequence into newest from sessions s
    where s.organization_id = of_organization and s.id = of_session and s.archived_at <= now() - interval '1 day'
    for no key update;
  if not found then
    raise exception 'only the log of a session that was archived a day ago can be sealed'
      using errcode = 'restrict_violation';
  end if;
  select coalesce(max(p.last_sequence), 0) + 1 into first from event_pages p
    where p.organization_id = of_organization and p.session_id = of_session;
  if through < first or through >= newest then
    raise exception 'a page goes on from the last one and leaves the newest event'
      using errcode = 'restrict_violation';
  end if;
  select count(*), encode(sha256(convert_to(string_agg(e.envelope, E'\n' order by e.sequence), 'UTF8')), 'hex')
    into found_events, found_digest from events e
    where e.organization_id = of_organization and e.session_id = of_session
      and e.sequence between first and through;
  if found_events <> through - first + 1 or found_digest <> text_digest then
    raise exception 'the page does not hold these events' using errcode = 'restrict_violation';
  end if;
  update webhook_deliveries d set body = e.envelope
    from events e, webhook_endpoints w, installations i
    where i.organization_id = of_organization and w.installation_id = i.id and d.endpoint_id = w.id
      and d.organization_id = of_organization and d.session_id = of_session and d.sequence between first and through
      and e.organization_id = of_organization and e.session_id = of_session and e.sequence = d.sequence;
  insert into event_pages values
    (of_organization, of_session, first, through, blob, blob_bytes, text_digest, now());
  delete from events e
    where e.organization_id = of_organization and e.session_id = of_session and e.sequence between first and through;
  return found_events;
end $$;

-- An Event may go with its whole log, or once a page has it.
create or replace function refuse_change() returns trigger language plpgsql as $$
begin
  if tg_op = 'DELETE' and (
    current_setting('berth.purging', true) = old.session_id::text
    or exists (
      select from event_pages p
      where p.organization_id = old.organization_id and p.session_id = old.session_id
        and old.sequence between p.first_sequence and p.last_sequence))
  then
    return old;
  end if;
  raise exception 'events are append-only' using errcode = 'restrict_violation';
end $$;

create function refuse_page_change() returns trigger language plpgsql as $$
begin
  if tg_op = 'DELETE' and current_setting('berth.purging', true) = old.session_id::text then
    return old;
  end if;
  raise exception 'pages of events are immutable' using errcode = 'restrict_violation';
end $$;
create trigger event_pages_are_immutable before update or delete on event_pages
  for each row execute function refuse_page_change();
create trigger event_pages_are_kept before truncate on event_pages
  for each statement execute function refuse_page_change();

create or replace function purge_events(of_organization uuid, of_session uuid) returns bigint
language plpgsql security definer set search_path from current as $$
declare
  purged bigint;
  sealed bigint;
begin
  perform from sessions s
    where s.organization_id = of_organization and s.id = of_session and s.archived_at <= now() - interval '1 day';
  if not found then
    raise exception 'only the log of a session that was archived a day ago can be purged'
      using errcode = 'restrict_violation';
  end if;
  select coalesce(sum(p.last_sequence - p.first_sequence + 1), 0) into sealed from event_pages p
    where p.organization_id = of_organization and p.session_id = of_session;
  perform set_config('berth.purging', of_session::text, true);
  delete from events e where e.organization_id = of_organization and e.session_id = of_session;
  get diagnostics purged = row_count;
  delete from event_pages p where p.organization_id = of_organization and p.session_id = of_session;
  perform set_config('berth.purging', '', true);
  return purged + sealed;
end $$;
