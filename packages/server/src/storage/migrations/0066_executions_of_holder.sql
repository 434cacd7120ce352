-- outside a transaction
-- A claim of a process with a row in `processes` has `infinity` as its time. It lapses with the row, or when somebody sets a
-- time. The time and the holder change only when a claim changes hands, so this index costs no write while it is held.
create index concurrently executions_of_holder on executions (holder) where task is not null;
-- Sessions that may be purged.
create index concurrently sessions_archived_since on sessions (archived_at) where archived_at is not null;
