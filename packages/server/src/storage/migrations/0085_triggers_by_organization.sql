-- Whoever takes deliveries steps from one organization to the next.
create index trigger_deliveries_waiting on trigger_deliveries (organization_id, due_at) where status = 'waiting';
drop index trigger_deliveries_due;
-- The messages of those that have ended stand in their Sessions, or were refused.
update trigger_deliveries set message = '' where status <> 'waiting';
