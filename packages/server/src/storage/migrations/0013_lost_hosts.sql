-- When a host was last heard of, and since when without a gap, both by the clock of the database: whether a host is gone
-- for good is not left to clocks that differ.
alter table runtime_hosts
  add column heard_at timestamptz not null default now(),
  add column heard_since timestamptz not null default now(),
  -- How long another host's silence may be before this one holds it for gone.
  add column patience interval not null default '5 minutes';
