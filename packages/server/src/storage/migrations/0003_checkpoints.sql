-- What a Run left behind, sealed: enough to go on from in a fresh sandbox. The lists live in blobs that the manifests name.
create table checkpoints (
  organization_id uuid not null,
  session_id uuid not null,
  run_id uuid not null,
  runtime text not null,
  -- How the agent's own conversation was kept: whole, or by the transcript only.
  conversation text not null check (conversation in ('exact', 'result_only')),
  agent_session_id text,
  workspace_manifest text not null,
  home_manifest text,
  stored_bytes bigint not null,
  sealed_at timestamptz not null,
  -- Set when a restore found a digest that is not what the manifest says; it is never offered again.
  damaged_at timestamptz,
  primary key (organization_id, session_id, run_id),
  foreign key (organization_id, session_id, run_id) references runs
);

-- Blobs that a checkpoint names, for the garbage collection: a blob that no row names is swept.
create table checkpoint_blobs (
  organization_id uuid not null,
  session_id uuid not null,
  run_id uuid not null,
  sha256 text not null,
  primary key (organization_id, session_id, run_id, sha256),
  foreign key (organization_id, session_id, run_id) references checkpoints on delete cascade
);

-- Somebody wants the Session's workspace back without sending a Turn. Whoever works it off deletes the row.
create table workspace_requests (
  organization_id uuid not null,
  session_id uuid not null,
  requested_at timestamptz not null,
  failed_at timestamptz,
  primary key (organization_id, session_id),
  foreign key (organization_id, session_id) references sessions
);
create index workspace_requests_open on workspace_requests (requested_at) where failed_at is null;
