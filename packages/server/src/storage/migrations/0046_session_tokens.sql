-- Tokens of Git hosts that a Session's sandboxes were given. The log masks them by their form; what leaves a sandbox (a
-- cache, an image, a Publication) is searched for them. A row is forgotten once its token has ended.
create table session_tokens (
  organization_id uuid not null,
  session_id uuid not null,
  -- Of the value, under the master key.
  digest bytea not null,
  -- The value, sealed under the master key.
  sealed bytea not null,
  created_at timestamptz not null,
  primary key (organization_id, session_id, digest),
  foreign key (organization_id, session_id) references sessions
);
