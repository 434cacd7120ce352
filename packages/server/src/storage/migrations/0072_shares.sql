-- What a worker's process can work on at once, and works on: others leave it its share of what is queued. Null: it claims
-- nothing.
alter table processes
  add column hands integer,
  add column busy integer not null default 0;
