-- The transports of MCP servers that the lease's agent has advertised besides stdio: a worker that takes over between its
-- `initialize` and its session gives it the same servers.
alter table leases add agent_mcp text[] not null default '{}';
