-- outside a transaction
-- A host that dials in is found by what it proves itself with.
create unique index concurrently hosts_by_token on hosts (token_sha256) where token_sha256 is not null;
