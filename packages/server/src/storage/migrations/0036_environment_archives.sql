-- Extensions that were uploaded to an environment. The blob store keeps the bytes.
create table environment_archives (
  organization_id uuid not null,
  environment_id uuid not null,
  sha256 text not null,
  size_bytes integer not null check (size_bytes > 0),
  -- From its `extension.json`: {"id", "name", "version"}.
  extension jsonb not null,
  -- Since when no revision holds it: at first the upload. Null while one does.
  unnamed_since timestamptz,
  primary key (organization_id, environment_id, sha256),
  foreign key (organization_id, environment_id) references environments
);

-- Digests of the archives that the document names.
alter table environment_revisions add archives text[] not null default '{}';
