-- Whether a delivery's message was made as a script. Text that strangers wrote must not become one because its trigger has
-- another runtime by the time it is admitted. Null: it was taken before, and counts as what its trigger is.
alter table trigger_deliveries add column is_script boolean;
