-- Looks at files of a workspace that somebody waits for; the worker beside the sandbox answers them. Lost on a crash of
-- the database, as the page asks again.
create unlogged table file_looks (
  id uuid primary key,
  organization_id uuid not null,
  session_id uuid not null,
  lease_id uuid not null,
  look text not null,
  asked_at timestamptz not null,
  claim uuid,
  claimed_until timestamptz,
  answered_at timestamptz,
  -- Null while nobody has answered, and if the sandbox could not be looked at.
  answer text,
  content bytea
);
create index file_looks_open on file_looks (asked_at) where answered_at is null;
create unique index file_looks_claimed on file_looks (claim) where claim is not null;
