-- Other systems post to an address of the trigger and sign what they send.
alter table triggers
  add column thread text[],
  add column hook jsonb,
  -- The last part of the address; ids of triggers are their callers', so two organizations may have the same.
  add column hook_id uuid not null default gen_random_uuid(),
  add column secret bytea,
  add column previous_secret bytea,
  add column previous_until timestamptz,
  add check ((previous_secret is null) = (previous_until is null));
create unique index triggers_by_hook on triggers (hook_id);

alter table trigger_deliveries
  -- Deliveries of one conversation become Turns of one Session, in the order in which they came.
  add column thread text,
  -- Null: the Session follows from the key.
  add column session_id uuid,
  -- What signed a delivery whose key is not signed: the same again is a replay, whatever key it comes with.
  add column signature bytea;
create unique index trigger_deliveries_signed on trigger_deliveries (organization_id, trigger_id, signature)
  where signature is not null;
create index trigger_deliveries_of_thread on trigger_deliveries (organization_id, trigger_id, thread, created_at, key)
  where status = 'waiting' and thread is not null;
