-- Images of environments: workspace and home as setup left them, sealed into blobs like a checkpoint.
create table environment_images (
  id uuid primary key,
  organization_id uuid not null,
  environment_id uuid not null,
  revision integer not null,
  -- Digest of whatever else decides the content: launch repository and commit, owner, platform.
  variant text not null,
  platform text not null,
  -- `building` until `claimed_until`, when another apply may build it; `sealed` until it was started once.
  state text not null check (state in ('building', 'sealed', 'ready', 'unavailable')),
  -- Why there is none.
  reason text,
  claimed_until timestamptz not null,
  workspace_manifest text,
  home_manifest text,
  -- Names the pair of trees on every host.
  digest text,
  blobs text[] not null default '{}',
  -- What setup exported to the agent, sealed under the master key, in base64.
  exports text,
  created_at timestamptz not null,
  used_at timestamptz not null,
  unique (organization_id, environment_id, revision, variant),
  foreign key (organization_id, environment_id, revision) references environment_revisions,
  check (state not in ('sealed', 'ready') or (workspace_manifest is not null and home_manifest is not null and digest is not null))
);
create index environment_images_sealed on environment_images (claimed_until) where state = 'sealed';
create index environment_images_used on environment_images (used_at);

-- The image that a sandbox started from: its host keeps the trees while the lease lives.
alter table leases add image_digest text;
