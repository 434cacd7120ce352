-- What the maker of a host's token has set. The host says its own capacity and labels when it dials, within these.
alter table hosts
  -- The most sandboxes that it may ever offer; null: as many as it says.
  add column admitted_capacity integer check (admitted_capacity > 0),
  -- They stand before labels of the same names that the host gives itself.
  add column admitted_labels jsonb not null default '{}';
-- A host that was removed while a process still has its connection must not come back as one of everybody: its row stays for
-- a while, without a token and cordoned.
alter table hosts add column removed_at timestamptz;
