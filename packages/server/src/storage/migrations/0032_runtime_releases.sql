-- A release that an installation tries: an engine in place of the built-in one, until it expires.
create table runtime_release_probes (
  installation_id uuid primary key references installations,
  release_sha text not null,
  engine_sha256 text not null,
  activated_at timestamptz not null,
  expires_at timestamptz not null
);
create index runtime_release_probes_expired on runtime_release_probes (expires_at);

-- Engines that were uploaded for an activation to come.
create table runtime_release_engines (
  installation_id uuid not null references installations,
  release_sha text not null,
  sha256 text not null,
  uploaded_at timestamptz not null,
  primary key (installation_id, release_sha)
);
create index runtime_release_engines_old on runtime_release_engines (uploaded_at);

-- The engine that a sandbox runs is settled when its row is written.
alter table leases
  add column release_sha text,
  add column engine_sha256 text,
  add check ((release_sha is null) = (engine_sha256 is null));
create index leases_engine on leases (engine_sha256) where engine_sha256 is not null and ended_at is null;
