-- A sandbox is set up by one revision of its Session's environment: the newest when the lease's row was written. State
-- `applying` lies between `creating` and `attached`; a worker that takes over goes on with the same processes.
alter table leases
  drop constraint leases_state_check,
  add constraint leases_state_check check (state in ('creating', 'applying', 'attached', 'ended')),
  add environment_id uuid,
  add environment_revision integer,
  -- [{"name", "digest"}]: the values are in `session_secrets`. Null with an environment: the master key opened none.
  add environment_secrets jsonb,
  -- How far the environment is applied; null until that begins, and without an environment.
  add apply jsonb,
  add foreign key (organization_id, environment_id, environment_revision) references environment_revisions,
  add check ((environment_id is null) = (environment_revision is null)),
  add check (apply is null or environment_id is not null),
  add check (state <> 'applying' or apply is not null);
create index leases_environment on leases (organization_id, environment_id)
  where environment_id is not null and ended_at is null;
