-- What the hosts of workers can run, of the runtimes that are installed by hand. A host that has not said so for a while
-- is taken to be away.
create table runtime_hosts (
  host text primary key,
  runtimes text[] not null,
  seen_at timestamptz not null
);

-- The model that the agent's process was started for, where it is told of one by its variables.
alter table leases add column agent_model text;
