-- outside a transaction
-- Those that the agent may still be given.
create index concurrently turns_steering on turns (organization_id, session_id, run_id) where steering = 'waiting';
