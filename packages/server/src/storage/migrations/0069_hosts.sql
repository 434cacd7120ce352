-- The machines that hold sandboxes: one for each data directory of a worker, and those that dial in. Before, only what a
-- worker's machine can run was known here.
alter table runtime_hosts rename to hosts;
alter table hosts rename column host to id;
alter table hosts
  -- The organization that it works for; null: every one.
  add column organization_id uuid references organizations,
  -- For people; null: it has its id alone.
  add column name text check (char_length(name) between 1 and 100),
  add column pool text not null default 'default',
  add column labels jsonb not null default '{}',
  add column driver text,
  -- The most sandboxes that it holds at a time; null: no more than its workers ask for.
  add column capacity integer check (capacity > 0),
  -- Counts the connections of a host that dials in. An older one than the newest may do nothing more.
  add column epoch bigint not null default 0,
  -- The process that has its connection; null: none, or its sandboxes are within reach of every process of its machine.
  add column connected_to text,
  -- It gets no more sandboxes since then.
  add column cordoned_at timestamptz,
  -- It also gives back those that rest, since then.
  add column drained_at timestamptz,
  -- What a host that dials in proves itself with; null for one that does not.
  add column token_sha256 bytea,
  -- When somebody made a token for it; null for a host that does not dial in.
  add column created_at timestamptz;

-- A process of the release before still asks for the old name.
create view runtime_hosts as
  select id as host, runtimes, seen_at, heard_at, heard_since, patience, packages_fault from hosts;
