-- Directories that setups of an environment filled, kept for the next fresh sandbox.
create table environment_caches (
  organization_id uuid not null,
  environment_id uuid not null,
  -- Digest of the paths, the launch repository, the driver and the machine.
  key bytea not null,
  -- Branch of the launch repository; '' without one.
  branch text not null,
  -- Manifests of the trees below the home and below the workspace; null if nothing was there.
  home_manifest text,
  workspace_manifest text,
  -- Digests of all their blobs.
  blobs text[] not null,
  -- Digest of the secrets for which the content was searched.
  searched bytea not null,
  saved_at timestamptz not null,
  used_at timestamptz not null,
  primary key (organization_id, environment_id, key, branch),
  foreign key (organization_id, environment_id) references environments
);
create index environment_caches_unused on environment_caches (used_at);
