-- outside a transaction
-- Filters of the audit log, and the lists of its actions and actors.
create index concurrently audit_log_of_action on audit_log (organization_id, action, at desc, id desc);
create index concurrently audit_log_of_actor on audit_log (organization_id, (coalesce(actor_id, actor_kind)), at desc, id desc);
