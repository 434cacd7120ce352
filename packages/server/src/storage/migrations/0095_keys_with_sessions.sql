-- outside a transaction
-- A distributed PostgreSQL takes a unique key only if it has the column by which its table is spread: the Session's id. It
-- comes last, so each key is still found by what its callers know.
create unique index concurrently leases_by_id on leases (id, session_id);
create unique index concurrently runtime_credentials_by_token on runtime_credentials (token_sha256, session_id);
create unique index concurrently port_previews_by_label on port_previews (label, session_id);
create unique index concurrently artifact_views_by_label on artifact_views (label, session_id);
create unique index concurrently file_looks_by_id on file_looks (id, session_id);
create unique index concurrently terminals_by_id on terminals (id, session_id);
create unique index concurrently interactions_of_lease on interactions (lease_id, journal_offset, session_id);
create unique index concurrently file_looks_of_claim on file_looks (claim, session_id) where claim is not null;
create unique index concurrently merges_of_claim on merges (claim, session_id) where claim is not null;
create unique index concurrently publications_of_claim on publications (claim, session_id) where claim is not null;
create unique index concurrently review_requests_of_claim on review_requests (claim, session_id) where claim is not null;
