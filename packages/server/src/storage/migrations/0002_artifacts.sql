-- Artifacts: immutable manifests; the bytes are blobs named by their digest.
create table artifacts (
  organization_id uuid not null,
  session_id uuid not null,
  id uuid not null,
  run_id uuid,
  kind text not null check (kind in ('run_result', 'presented_file', 'pull_request_record')),
  name text not null,
  media_type text not null,
  size_bytes bigint not null check (size_bytes >= 0),
  sha256 text not null check (sha256 ~ '^[0-9a-f]{64}$'),
  created_at timestamptz not null,
  position bigint generated always as identity,
  primary key (organization_id, session_id, id),
  foreign key (organization_id, session_id) references sessions
);
create index artifacts_in_order on artifacts (organization_id, session_id, position);
