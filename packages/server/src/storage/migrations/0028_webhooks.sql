-- Where apps receive Events of an installation's Sessions. The secret signs each delivery and is sealed.
create table webhook_endpoints (
  id uuid primary key,
  installation_id uuid not null references installations,
  url text not null,
  families text[] not null,
  sealed_secret bytea not null,
  created_at timestamptz not null,
  last_success_at timestamptz,
  last_failure_at timestamptz,
  last_failure_status integer,
  last_failure_error text,
  -- Failed attempts since the last success, of all deliveries.
  failures integer not null default 0
);
create index webhook_endpoints_of_installation on webhook_endpoints (installation_id, created_at);

-- One Event on its way to one endpoint, written in the transaction that appends the Event. The body is joined from the
-- log; only a ping, which is no Event, has one of its own. Nothing refers to the endpoint: the append would lock its row.
-- A delivery whose endpoint is gone is never claimed.
create table webhook_deliveries (
  id uuid primary key default gen_random_uuid(),
  endpoint_id uuid not null,
  -- The order of insertion, which is the order of sequences within a Session: both are taken under its lock.
  position bigint not null generated always as identity,
  organization_id uuid not null,
  session_id uuid,
  sequence bigint,
  body text,
  status text not null default 'pending' check (status in ('pending', 'succeeded', 'failed')),
  -- Attempts that count against the limit; all of them are in `attempts`.
  tries integer not null default 0,
  attempts jsonb not null default '[]',
  -- A first attempt is due at once, whatever the clocks of the processes say.
  due_at timestamptz not null default '-infinity',
  holder uuid,
  claim uuid,
  claimed_until timestamptz,
  -- Claims that lapsed because their process died.
  lapses integer not null default 0,
  created_at timestamptz not null,
  ended_at timestamptz,
  check ((ended_at is not null) = (status <> 'pending')),
  check ((body is null) = (sequence is not null) and (session_id is null) = (sequence is null))
);
create unique index webhook_deliveries_of_event on webhook_deliveries (endpoint_id, session_id, sequence);
create index webhook_deliveries_due on webhook_deliveries (endpoint_id, due_at, position) where status = 'pending';
create index webhook_deliveries_in_order on webhook_deliveries (endpoint_id, created_at desc, id desc);
create index webhook_deliveries_ended on webhook_deliveries (ended_at) where ended_at is not null;
create unique index webhook_deliveries_claimed on webhook_deliveries (claim) where claim is not null;
