-- Who may act. The account service fills these tables; the guard reads them on every request.
create table organizations (
  id uuid primary key,
  name text not null check (char_length(name) between 1 and 100),
  created_at timestamptz not null
);

create table people (
  id uuid primary key,
  email text not null,
  name text not null check (char_length(name) between 1 and 100),
  password_hash text not null,
  created_at timestamptz not null
);
create unique index people_by_email on people (lower(email));

create table memberships (
  id uuid primary key,
  organization_id uuid not null references organizations,
  person_id uuid not null references people,
  role text not null check (role in ('member', 'admin')),
  created_at timestamptz not null,
  revoked_at timestamptz,
  unique (organization_id, person_id)
);

create table apps (
  slug text primary key,
  organization_id uuid not null references organizations,
  name text not null,
  created_at timestamptz not null
);

create table installations (
  id uuid primary key,
  organization_id uuid not null references organizations,
  app_slug text not null references apps,
  capabilities text[] not null,
  created_at timestamptz not null,
  revoked_at timestamptz
);

create table api_keys (
  id uuid primary key,
  installation_id uuid not null references installations,
  kind text not null check (kind in ('cloud', 'ai')),
  digest bytea not null unique,
  created_at timestamptz not null,
  expires_at timestamptz,
  revoked_at timestamptz
);

-- Lost on a crash of the database, which only refills the buckets; no write-ahead log is spent on metering.
create unlogged table rate_buckets (
  key text primary key,
  tokens double precision not null,
  refilled_at timestamptz not null
) with (fillfactor = 50);

create type metering as (granted boolean, remaining double precision);

-- Takes one token. A refused request leaves the row as it is, so a flood cannot keep a bucket from refilling.
create function take_token(bucket text, burst double precision, per_minute double precision, at timestamptz)
returns metering language plpgsql as $$
declare
  left_over double precision;
begin
  insert into rate_buckets as b (key, tokens, refilled_at) values (bucket, burst - 1, at)
  on conflict (key) do update
    set tokens = least(burst, b.tokens + greatest(0, extract(epoch from at - b.refilled_at)) * per_minute / 60) - 1,
        refilled_at = greatest(b.refilled_at, at)
    where least(burst, b.tokens + greatest(0, extract(epoch from at - b.refilled_at)) * per_minute / 60) >= 1
  returning tokens into left_over;
  if found then
    return (true, left_over);
  end if;
  select least(burst, b.tokens + greatest(0, extract(epoch from at - b.refilled_at)) * per_minute / 60)
    into left_over from rate_buckets b where b.key = bucket;
  return (false, coalesce(left_over, 0));
end $$;

-- The guard's one call: who a credential stands for right now, and a token from the buckets of the client's address and
-- of the authority. `outcome` is granted, invalid, or the policy whose bucket is empty.
create function judge_credential(
  credential bytea, address text, at timestamptz, metered boolean,
  burst double precision, per_minute double precision, edge_burst double precision, edge_per_minute double precision,
  out outcome text, out installation_id uuid, out organization_id uuid, out capabilities text[],
  out expires_at timestamptz, out remaining double precision)
language plpgsql as $$
declare
  taken metering;
begin
  if metered then
    taken := take_token('address/' || address, edge_burst, edge_per_minute, at);
    remaining := taken.remaining;
    if not taken.granted then
      outcome := 'svc-cloud-auth';
      return;
    end if;
  end if;
  select i.id, i.organization_id, i.capabilities, k.expires_at
    into installation_id, organization_id, capabilities, expires_at
    from api_keys k join installations i on i.id = k.installation_id
    where k.digest = credential and k.kind = 'cloud' and k.revoked_at is null and i.revoked_at is null
      and (k.expires_at is null or k.expires_at > at);
  if not found then
    outcome := 'invalid';
    return;
  end if;
  if metered then
    taken := take_token('installation/' || installation_id, burst, per_minute, at);
    remaining := taken.remaining;
    if not taken.granted then
      outcome := 'svc-cloud';
      return;
    end if;
  end if;
  outcome := 'granted';
end $$;

-- Sessions. Ids are the caller's and unique per organization only, so every key below starts with the organization.
create table sessions (
  organization_id uuid not null references organizations,
  id uuid not null,
  owner_kind text not null check (owner_kind in ('app_installation', 'person')),
  owner_id uuid not null,
  request_hash bytea not null,
  title text not null,
  origin jsonb,
  model text,
  runtime text,
  turn_count integer not null default 0,
  last_event_sequence bigint not null default 0,
  first_run_started_at timestamptz,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  -- The second of `updated_at`, for the lists' indexes. Every append moves `updated_at`; were that indexed, every append
  -- would write to each of them. Within a second the index stands still and the update stays on its page (1.5 x).
  listed_at timestamp not null generated always as (date_trunc('second', updated_at at time zone 'UTC')) stored,
  archived_at timestamptz,
  primary key (organization_id, id)
) with (fillfactor = 50);
create index sessions_of_owner on sessions (organization_id, owner_id, listed_at desc) where archived_at is null;
create index sessions_archived on sessions (organization_id, owner_id, listed_at desc) where archived_at is not null;
create index sessions_of_organization on sessions (organization_id, listed_at desc) where archived_at is null;
create index sessions_by_origin on sessions (organization_id, (origin ->> 'objectId')) where origin is not null;

-- The log. `envelope` is serialised once, at append, and only ever copied.
create table events (
  organization_id uuid not null,
  session_id uuid not null,
  sequence bigint not null check (sequence >= 1),
  run_id uuid,
  type text not null,
  envelope text not null,
  -- No foreign key: the append updates the Session's row in the same statement, and checking that again costs a lookup.
  primary key (organization_id, session_id, sequence)
);

create function refuse_change() returns trigger language plpgsql as $$
begin
  raise exception 'events are append-only' using errcode = 'restrict_violation';
end $$;
create trigger events_are_immutable before update or delete on events for each row execute function refuse_change();
create trigger events_are_kept before truncate on events for each statement execute function refuse_change();

create table runs (
  organization_id uuid not null,
  session_id uuid not null,
  id uuid not null,
  turn_id uuid not null,
  status text not null check (status in
    ('queued', 'dispatching', 'running', 'awaiting', 'completed', 'failed', 'cancelled', 'crashed')),
  runtime text,
  model text,
  cancel_requested_at timestamptz,
  attempts integer not null default 0,
  -- Times the Run changed hands since it last made progress; poison work is ended by this count.
  handovers integer not null default 0,
  tool_calls integer not null default 0,
  stop_reason text,
  error_code text,
  cost_usd double precision,
  cost_complete boolean,
  turns integer,
  usage jsonb,
  result jsonb,
  queued_at timestamptz not null,
  -- Not claimed before: an attempt that was lost is not started again at once.
  claimable_at timestamptz not null,
  started_at timestamptz,
  ended_at timestamptz,
  primary key (organization_id, session_id, id),
  foreign key (organization_id, session_id) references sessions,
  check ((ended_at is null) = (status in ('queued', 'dispatching', 'running', 'awaiting')))
);
-- The active Run of a Session is this row and nothing else.
create unique index runs_active on runs (organization_id, session_id) where ended_at is null;
create index runs_queued on runs (claimable_at) where status = 'queued';

create table turns (
  organization_id uuid not null,
  session_id uuid not null,
  id uuid not null,
  sequence integer not null check (sequence >= 0),
  run_id uuid not null,
  request_hash bytea not null,
  message text not null,
  reply_to text,
  files jsonb not null default '[]',
  model text,
  runtime text,
  author_kind text not null,
  author_id uuid not null,
  created_at timestamptz not null,
  primary key (organization_id, session_id, id),
  unique (organization_id, session_id, sequence),
  foreign key (organization_id, session_id, run_id) references runs
);

-- The execution fence of a Session. `token` grows by one each time execution changes hands; every write of a worker
-- locks this row and proves that it still holds the token.
create table executions (
  organization_id uuid not null,
  session_id uuid not null,
  token bigint not null,
  -- What is being done: a Run executes, an ended Run is sealed, or a workspace is restored; null while nothing is.
  task text check (task in ('run', 'seal', 'restore')),
  run_id uuid,
  attempt integer not null,
  holder text not null,
  acquired_at timestamptz not null,
  heartbeat_at timestamptz not null,
  expires_at timestamptz not null,
  primary key (organization_id, session_id),
  foreign key (organization_id, session_id) references sessions
) with (fillfactor = 50);
create index executions_held on executions (expires_at) where task is not null;

-- Sandboxes on lease. The row is written before the sandbox is made and outlives it.
create table leases (
  id uuid primary key,
  organization_id uuid not null,
  session_id uuid not null,
  driver text not null,
  host text not null,
  runtime text not null,
  state text not null check (state in ('creating', 'attached', 'ended')),
  created_at timestamptz not null,
  expires_at timestamptz not null,
  bound_at timestamptz not null,
  idle_ms bigint not null,
  ended_at timestamptz,
  end_reason text check (end_reason in ('expired', 'lost', 'archived', 'abandoned')),
  -- Journal of the sandbox: everything before `journal_offset` is committed to the log; a worker that attaches reads
  -- from `replay_from`, where the oldest message or tool call that is still open began.
  journal_offset bigint not null default 0,
  replay_from bigint not null default 0,
  agent_generation integer not null default 0,
  agent_state text not null default 'none' check (agent_state in ('none', 'started', 'initialized', 'ready', 'exited')),
  agent_loads_sessions boolean not null default false,
  agent_session_id text,
  active_prompt text,
  recap text,
  foreign key (organization_id, session_id) references sessions,
  check ((ended_at is null) = (state <> 'ended'))
);
create unique index leases_live on leases (organization_id, session_id) where ended_at is null;
create index leases_of_session on leases (organization_id, session_id, created_at desc);
create index leases_due on leases (expires_at) where ended_at is null;
create index leases_of_host on leases (host) where ended_at is null;
