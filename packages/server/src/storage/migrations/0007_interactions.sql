-- What agents ask of people. The request stands in the journal of the lease; this row is written with the reading of it,
-- and whichever worker reads the lease gives the answer and notes that the journal has it.
create table interactions (
  organization_id uuid not null,
  session_id uuid not null,
  id text not null,
  run_id uuid not null,
  kind text not null check (kind in ('ask_user', 'exit_plan_mode', 'approval')),
  status text not null check (status in ('open', 'resolved', 'expired')),
  resolution text,
  -- As it is shown: cleaned and within bounds.
  request text not null,
  -- Where the agent asked, and what its answer is made of. An agent may use a JSON-RPC id twice, an offset it cannot.
  lease_id uuid not null references leases,
  journal_offset bigint not null,
  agent_request text not null,
  -- Approvals only: what a decision names, and when there can be none any more.
  request_id text,
  deadline timestamptz,
  opened_at timestamptz not null,
  closed_at timestamptz,
  choice text check (choice in ('allow_once', 'allow_turn', 'allow_chat', 'deny')),
  idempotency_key text,
  response_turn_id uuid,
  answer text,
  delivered_at timestamptz,
  primary key (organization_id, session_id, id),
  unique (lease_id, journal_offset),
  foreign key (organization_id, session_id, run_id) references runs,
  check ((status = 'open') = (closed_at is null)),
  check ((kind = 'approval') = (request_id is not null))
);
create index interactions_open on interactions (organization_id, session_id, opened_at) where status = 'open';
create index interactions_due on interactions (deadline) where status = 'open';
create index interactions_undelivered on interactions (lease_id) where delivered_at is null;

-- Decisions that answer later requests like the one they were made on: within the Run that it names, or in all of them.
create table remembered_decisions (
  organization_id uuid not null,
  session_id uuid not null,
  run_id uuid,
  tool_name text not null,
  tool_kind text not null,
  confinement text not null,
  unique nulls not distinct (organization_id, session_id, run_id, tool_name, tool_kind, confinement),
  foreign key (organization_id, session_id) references sessions
);

-- Time in which a Run waits for people is none of its own.
alter table runs add column awaiting_since timestamptz, add column awaited_ms bigint not null default 0;
