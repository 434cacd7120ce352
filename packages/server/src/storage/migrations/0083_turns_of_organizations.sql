-- outside a transaction
-- A claim lets organizations take turns: it steps from one to the next and counts what each has at work.
create index concurrently runs_queued_of_organization on runs (organization_id, claimable_at) where status = 'queued';
create index concurrently runs_at_work on runs (organization_id) where status in ('dispatching', 'running');
