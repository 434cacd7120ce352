-- A trial of an environment is a Session that nobody sees and that is archived when the apply has ended.
alter table sessions add column is_trial boolean not null default false;

create table environment_trials (
  organization_id uuid not null,
  session_id uuid not null,
  -- It is stopped then in any case.
  ends_at timestamptz not null,
  -- It is stopped then if nobody has read or followed it since.
  watched_until timestamptz not null,
  ended_at timestamptz,
  outcome text check (outcome in ('succeeded', 'failed', 'asked', 'unwatched', 'overdue')),
  primary key (organization_id, session_id),
  foreign key (organization_id, session_id) references sessions (organization_id, id),
  check ((ended_at is null) = (outcome is null))
);
create index environment_trials_live on environment_trials (organization_id) where ended_at is null;
create index environment_trials_ended on environment_trials (ended_at) where ended_at is not null;
