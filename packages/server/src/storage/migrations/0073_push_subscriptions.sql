-- The key pair with which this deployment proves to push services who sends (RFC 8292). It is made once; browsers that
-- subscribed with it take nothing from another one.
create table push_keys (
  is_only boolean primary key default true check (is_only),
  public_key bytea not null,
  sealed_private_key bytea not null,
  created_at timestamptz not null
);

-- Browsers to which the notifications of a membership are pushed. Where and with which keys is sealed: whoever has both
-- can write to the browser. It ends with the sign-in and the membership, which are judged at each push.
create table push_subscriptions (
  id uuid primary key,
  membership_id uuid not null references memberships,
  organization_id uuid not null references organizations,
  person_id uuid not null references people,
  sign_in_id uuid not null references sign_ins,
  endpoint_digest bytea not null,
  sealed bytea not null,
  agent text,
  needs_you boolean not null,
  run_ended boolean not null,
  created_at timestamptz not null,
  -- When the browser repeated it last.
  seen_at timestamptz not null,
  pushed_at timestamptz,
  -- Pushes in a row that were not accepted.
  failures integer not null default 0,
  unique (membership_id, endpoint_digest)
);
create index push_subscriptions_of_organization on push_subscriptions (organization_id);
create index push_subscriptions_of_endpoint on push_subscriptions (endpoint_digest);
create index push_subscriptions_of_sign_in on push_subscriptions (sign_in_id);

-- What is to be pushed. A row that has ended stays for a while, so that the same thing is not pushed again.
create table push_deliveries (
  id uuid primary key,
  subscription_id uuid not null references push_subscriptions on delete cascade,
  organization_id uuid not null,
  -- Null for a test.
  session_id uuid,
  -- Whoever has read so far knows of it already.
  sequence integer,
  kind text not null check (kind in ('needs_you', 'run_ended', 'test')),
  -- The request, the Run or the test.
  subject text not null,
  created_at timestamptz not null,
  due_at timestamptz not null,
  tries integer not null default 0,
  claimed_until timestamptz,
  ended_at timestamptz,
  unique (subscription_id, kind, subject)
);
create index push_deliveries_due on push_deliveries (due_at) where ended_at is null;
create index push_deliveries_ended on push_deliveries (ended_at) where ended_at is not null;
create index push_deliveries_of_session on push_deliveries (organization_id, session_id);
