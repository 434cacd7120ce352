-- What all processes on this database must agree on, in one row.
create table deployment (
  only_row boolean primary key default true check (only_row),
  -- Also an object in the blob store. Until that has been seen there once, a start may still write it.
  blob_store uuid not null default gen_random_uuid(),
  blob_store_seen boolean not null default false,
  -- A constant, sealed under the master key; null until a process holds one.
  master_key_check bytea
);
insert into deployment default values;
