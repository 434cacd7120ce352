-- What the agent of a Run has put into the log, counted with the reading that commits it: a worker that takes over goes on
-- counting from here. `dropped_events` were left out once the budget was spent, and the end of the Run says so.
alter table runs
  add column event_count integer not null default 0,
  add column event_bytes bigint not null default 0,
  add column dropped_events integer not null default 0;
