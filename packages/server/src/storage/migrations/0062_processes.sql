-- The processes of this database, one row each. A process writes its row four times as often as it lapses, and what it
-- holds stands as long as the row does, so holding more costs no further writes. All times are the database's.
create table processes (
  id text primary key,
  host text not null,
  roles text[] not null,
  release text,
  started_at timestamptz not null,
  heard_at timestamptz not null,
  -- Since when it was heard of without a gap. Its own silence makes it no witness of the silence of others.
  heard_since timestamptz not null,
  -- The longest silence after which others take over; none once it has stopped.
  patience interval not null
) with (fillfactor = 50);
