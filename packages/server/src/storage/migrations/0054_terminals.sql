-- Terminals of people in sandboxes. A row is written before the shell is started, and outlives it for the audit of what
-- has to be sealed; the chore deletes old ones.
create table terminals (
  id uuid primary key,
  organization_id uuid not null,
  session_id uuid not null,
  lease_id uuid not null references leases,
  person_id uuid not null,
  membership_id uuid not null,
  sign_in_id uuid not null,
  -- The browser that asked; null for a bearer.
  console_session_id uuid,
  -- Where the page comes from that may connect.
  origin text not null,
  columns smallint not null,
  rows smallint not null,
  state text not null check (state in ('asked', 'started', 'ended')),
  end_reason text,
  created_at timestamptz not null,
  ticket_digest bytea,
  ticket_ends_at timestamptz,
  -- The sandbox is kept running until then.
  awake_until timestamptz not null,
  typed_at timestamptz,
  -- When a worker was last asked to seal what was done here.
  seal_asked_at timestamptz,
  ended_at timestamptz,
  foreign key (organization_id, session_id) references sessions (organization_id, id),
  check ((state = 'ended') = (ended_at is not null))
);
create index terminals_live on terminals (lease_id) where ended_at is null;
create index terminals_unsealed on terminals (lease_id) where typed_at is not null;
