-- What a person has read of a Session, and whether they keep it at the top of their list.
create table session_marks (
  organization_id uuid not null,
  session_id uuid not null,
  person_id uuid not null references people,
  read_sequence integer not null default 0 check (read_sequence >= 0),
  pinned_at timestamptz,
  primary key (organization_id, session_id, person_id),
  foreign key (organization_id, session_id) references sessions (organization_id, id)
);

-- Sessions whose Run somebody watches, and until when they are taken to. Lost on a crash of the database; the watchers
-- write it again within seconds.
create unlogged table preview_watches (
  organization_id uuid not null,
  session_id uuid not null,
  watched_until timestamptz not null,
  primary key (organization_id, session_id)
);

-- What an agent is saying and doing right now, masked as the log is. It is gone once the log tells it.
create unlogged table session_previews (
  organization_id uuid not null,
  session_id uuid not null,
  run_id uuid not null,
  preview text not null,
  updated_at timestamptz not null,
  primary key (organization_id, session_id)
);
