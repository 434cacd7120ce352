-- Files of a review that a person has viewed as they were: another digest of a file's change asks to be looked at again.
-- The path stands beside its SHA-256, which is the key, because a path may be longer than an index takes.
create table viewed_files (
  organization_id uuid not null,
  session_id uuid not null,
  person_id uuid not null references people,
  path_digest bytea not null,
  path text not null,
  digest text not null,
  marked_at timestamptz not null,
  primary key (organization_id, session_id, person_id, path_digest),
  foreign key (organization_id, session_id) references sessions (organization_id, id)
);

-- Grows with each change of the marks above, so that a page knows whether its own are the newest.
alter table session_marks add column viewed_marks integer not null default 0 check (viewed_marks >= 0);
