-- A host that fails again and again gets no sandboxes for a while.
alter table hosts
  -- In a row, since it last made a sandbox that answered.
  add column failures integer not null default 0,
  -- It gets no further sandboxes until then; null: it has not failed since.
  add column rests_until timestamptz,
  add column rests_because text;
