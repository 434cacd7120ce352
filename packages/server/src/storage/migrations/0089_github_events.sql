-- The event of GitHub that a delivery is; the host is asked about it before it makes a Turn.
alter table trigger_deliveries add column event jsonb;
