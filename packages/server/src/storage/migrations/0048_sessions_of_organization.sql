-- outside a transaction
-- The feed and the list of people, who see the Sessions of every owner in their organization. An append already writes to
-- `sessions_moved` when the step of `moved_in` changes, so the first index costs no more often than that one.
create index concurrently sessions_moved_in_organization on sessions (organization_id, moved_in);
create index concurrently sessions_archived_of_organization on sessions (organization_id, listed_at desc)
  where archived_at is not null;
