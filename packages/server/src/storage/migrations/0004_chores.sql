-- Work that one process at a time does for all, at intervals. A holder that stops renewing loses the chore.
create table chores (
  name text primary key,
  holder text not null,
  expires_at timestamptz not null,
  done_at timestamptz
);
