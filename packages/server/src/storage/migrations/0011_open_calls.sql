-- The tool calls of a Run that its log has begun and not ended, for whoever ends the Run without its agent.
alter table runs add column open_calls jsonb not null default '[]';
