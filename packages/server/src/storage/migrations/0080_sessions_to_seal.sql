-- outside a transaction
-- Archived Sessions whose logs still lie in the database, the oldest first.
create index concurrently sessions_to_seal on sessions (archived_at, id) where archived_at is not null and not log_sealed;
