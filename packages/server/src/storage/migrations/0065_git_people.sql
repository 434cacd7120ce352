-- Accounts of people at Git hosts, who let the service act for them there.
create table host_people (
  id uuid primary key,
  person_id uuid not null references people,
  host text not null,
  provider text not null,
  -- The host's id of the account.
  account text not null,
  login text not null,
  -- The tokens as JSON, sealed for this row. Null: the host no longer takes them.
  tokens bytea,
  -- The tokens are asked to be renewed from then on. Null: they do not end by themselves.
  renew_at timestamptz,
  -- A process is renewing them until then: a token for renewal works once.
  renewing_until timestamptz,
  created_at timestamptz not null
);
create unique index host_people_of_person on host_people (person_id, host);

-- Connections that browsers have begun. Each is finished by the browser that began it, and once.
create table host_people_begun (
  state_digest bytea primary key,
  console_session_id uuid not null references console_sessions on delete cascade,
  host text not null,
  -- The verifier of PKCE, sealed for this row.
  verifier bytea not null,
  return_to text not null,
  ends_at timestamptz not null
);
create index host_people_begun_of_browser on host_people_begun (console_session_id);
create index host_people_begun_ending on host_people_begun (ends_at);

-- Only people whose own account at the host reaches a repository may use it through this connection.
alter table host_connections add column personal boolean not null default false;
