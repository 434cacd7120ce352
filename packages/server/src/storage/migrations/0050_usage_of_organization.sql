-- outside a transaction
-- Reports of usage, of an organization and of one person in it.
create index concurrently gateway_requests_of_organization on gateway_requests (organization_id, started_at);
create index concurrently gateway_requests_of_person on gateway_requests (organization_id, person_id, started_at)
  where person_id is not null;
