-- Where a fork comes from: the Session may be purged since. The recap is what was said there, for an agent that cannot load the
-- conversation.
alter table sessions
  add column parent_session_id uuid,
  add column parent_run_id uuid,
  add column forked_recap text,
  add check ((parent_session_id is null) = (parent_run_id is null));
