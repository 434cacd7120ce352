-- What the sandboxes of a Session may know of secrets, so that every process that appends to its log masks them. Rows are
-- only ever added: a log may still tell what an earlier sandbox knew.
create table session_secrets (
  organization_id uuid not null,
  session_id uuid not null,
  source text not null check (source in ('runtime', 'environment')),
  -- Of the value, under the master key: the same value is kept once.
  digest bytea not null,
  -- The value, sealed under the master key.
  sealed bytea not null,
  created_at timestamptz not null,
  primary key (organization_id, session_id, source, digest),
  foreign key (organization_id, session_id) references sessions
);

-- Names what the rows above hold for a Session. An append proves by it that it has masked all of them. 0 is a Session
-- whose sandboxes know none, which costs its appends no statement. The numbers are random and no count, so that no
-- version which was rolled back comes again with other secrets.
alter table sessions add column secrets_version bigint not null default 0;
