-- Environments: how fresh sandboxes of the Sessions bound to them are set up.

create table environments (
  organization_id uuid not null references organizations,
  id uuid not null,
  -- Of the newest revision.
  name text not null,
  -- The name in NFC and lower case: live environments differ in it.
  folded_name text not null,
  revision integer not null check (revision > 0),
  is_default boolean not null default false,
  archived_at timestamptz,
  primary key (organization_id, id),
  check (not (is_default and archived_at is not null))
);
create unique index environments_live_name on environments (organization_id, folded_name) where archived_at is null;
create unique index environments_default on environments (organization_id) where is_default;
create index environments_by_name on environments (organization_id, folded_name, id);

-- A revision never changes.
create table environment_revisions (
  organization_id uuid not null,
  environment_id uuid not null,
  revision integer not null,
  -- JSON with every member but `secrets`, keys sorted, without white space: equal documents are equal text.
  document text not null,
  -- The versions that it pins: [{"name", "version"}], by name.
  secrets jsonb not null,
  created_by_kind text not null check (created_by_kind in ('person', 'installation')),
  created_by_id uuid not null,
  created_at timestamptz not null,
  primary key (organization_id, environment_id, revision),
  foreign key (organization_id, environment_id) references environments
);

-- Versions count per name and never come again, so a row outlives its value.
create table environment_secrets (
  organization_id uuid not null,
  environment_id uuid not null,
  name text not null,
  version integer not null check (version > 0),
  -- Length of the value in bytes.
  size_bytes integer not null,
  -- The value, sealed under the master key; null once it is destroyed.
  sealed bytea,
  created_at timestamptz not null,
  -- When a later version replaced it, or it was deleted.
  ended_at timestamptz,
  primary key (organization_id, environment_id, name, version),
  foreign key (organization_id, environment_id) references environments,
  check (sealed is not null or ended_at is not null)
);
create unique index environment_secrets_current on environment_secrets (organization_id, environment_id, name)
  where ended_at is null;
create index environment_secrets_to_destroy on environment_secrets (ended_at) where sealed is not null;

-- A Session is bound to an environment, not to a revision; `environment_revision` is the last that was applied to it.
alter table sessions
  add environment_id uuid,
  add environment_revision integer,
  add foreign key (organization_id, environment_id) references environments;
