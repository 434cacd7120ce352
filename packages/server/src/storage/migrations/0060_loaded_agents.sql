-- An agent that has loaded a conversation may still be repeating it.
alter table leases drop constraint leases_agent_state_check;
alter table leases add constraint leases_agent_state_check
  -- The rows that are there need no look: the states before are among these.
  check (agent_state in ('none', 'started', 'initialized', 'loaded', 'ready', 'exited')) not valid;
