-- What an installation may use of a host of Git repositories: an account there, whole or repository by repository.
create table host_connections (
  id uuid primary key,
  organization_id uuid not null references organizations,
  installation_id uuid not null references installations,
  host text not null,
  provider text not null,
  account text not null,
  account_login text not null,
  -- Every repository of the account is granted as soon as it is seen; else those alone that were named.
  whole boolean not null,
  created_at timestamptz not null,
  revoked_at timestamptz
);
create unique index host_connections_live on host_connections (installation_id, host, account) where revoked_at is null;

create table repository_grants (
  id uuid primary key,
  connection_id uuid not null references host_connections,
  organization_id uuid not null references organizations,
  installation_id uuid not null references installations,
  repository_id text not null check (repository_id ~ '^[0-9]{1,20}$'),
  -- As it was called when it was last seen.
  full_name text not null,
  created_at timestamptz not null,
  revoked_at timestamptz,
  replaced_by uuid references repository_grants,
  check (revoked_at is null or replaced_by is null)
);
create unique index repository_grants_live on repository_grants (connection_id, repository_id)
  where revoked_at is null and replaced_by is null;
create index repository_grants_of_installation on repository_grants (installation_id, created_at desc, id desc);

-- Repositories of the data directory: ids for paths, and what git does not know.
create table local_repositories (
  id bigint generated always as identity primary key,
  owner text not null,
  name text not null,
  unique (owner, name)
);

create table local_branch_rules (
  repository_id bigint not null references local_repositories,
  branch text not null,
  required_checks text[] not null,
  primary key (repository_id, branch)
);

create table local_checks (
  repository_id bigint not null references local_repositories,
  commit_oid text not null,
  name text not null,
  state text not null check (state in ('pending', 'success', 'failure')),
  updated_at timestamptz not null,
  primary key (repository_id, commit_oid, name)
);

create table local_pulls (
  repository_id bigint not null references local_repositories,
  number integer not null,
  title text not null,
  body text not null,
  draft boolean not null,
  state text not null check (state in ('open', 'merged', 'closed')),
  head_branch text not null,
  base_branch text not null,
  head_oid text not null,
  merge_commit_oid text,
  created_at timestamptz not null,
  primary key (repository_id, number)
);
create unique index local_pulls_open on local_pulls (repository_id, head_branch, base_branch) where state = 'open';

-- What merges were about to bring the base branch to, written before it moves. The one that is in the base was merged.
create table local_merge_intents (
  repository_id bigint not null,
  number integer not null,
  commit_oid text not null,
  head_oid text not null,
  primary key (repository_id, number, commit_oid),
  foreign key (repository_id, number) references local_pulls
);

-- A Session on a repository, pinned (interface 2.3). What it shows is fixed at its creation.
alter table sessions add column source jsonb;
-- The host would not give the source to a restore any more.
alter table sessions add column source_lost_at timestamptz;
create index sessions_source_lost on sessions (owner_id) where source_lost_at is not null;
