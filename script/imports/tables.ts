/** Folders of the server whose statements may name a table; `sessions` includes everything below it. */
export interface TableAccess {
  readonly writes: readonly string[]
  /** Folders that read the table, besides those that write it. */
  readonly reads?: readonly string[]
}

/**
 * Says which folders' statements may name which table. The folders that write a table own its rules. A folder that only
 * reads it joins it in its own statement, because a second query would see the data at another moment.
 */
export const tables: Readonly<Record<string, TableAccess>> = {
  // Identity.
  organizations: {
    writes: ['accounts', 'identity/development'],
    reads: ['admin', 'console', 'repositories', 'environments', 'sessions/runs', 'webhooks'],
  },
  people: { writes: ['accounts', 'identity/development'], reads: ['console', 'sessions/runs'] },
  memberships: { writes: ['accounts', 'identity/development'], reads: ['console', 'sessions/runs'] },
  apps: { writes: ['accounts', 'identity/development'], reads: ['webhooks'] },
  installations: {
    writes: ['accounts', 'identity/development'],
    reads: ['identity', 'admin', 'gateway/accounting', 'repositories', 'sessions/runs', 'webhooks'],
  },
  api_keys: { writes: ['accounts', 'identity/development', 'identity/guard'], reads: ['gateway/accounting'] },
  external_identities: { writes: ['accounts'] },
  recovery_codes: { writes: ['accounts'] },
  sign_ins: { writes: ['accounts'], reads: ['console'] },
  oidc_records: { writes: ['accounts'] },
  one_time_links: { writes: ['accounts'] },
  console_sessions: { writes: ['console'] },
  client_keys: { writes: ['accounts'] },
  signing_keys: { writes: ['accounts'], reads: ['identity'] },
  app_keys: { writes: ['accounts'] },
  setup_authorities: { writes: ['accounts'] },
  installation_intents: { writes: ['accounts'] },
  audit_log: { writes: ['accounts'] },
  standing_changes: { writes: ['accounts'] },
  identity_feed: { writes: ['accounts'] },
  runtime_credentials: { writes: ['identity'] },
  rate_buckets: { writes: ['identity'] },

  // Sessions and everything that belongs to one.
  sessions: {
    writes: ['sessions/session', 'sessions/log', 'sessions/runs', 'sessions/turns', 'repositories'],
    reads: [
      'console',
      'sessions/streams',
      'sessions/leases',
      'sessions/merges',
      'sessions/publications',
      'checkpoints',
      'delivery',
      'execution/workspace',
      'releases',
      'webhooks',
    ],
  },
  session_secrets: { writes: ['sessions/log'] },
  session_tokens: { writes: ['sessions/log'] },
  events: { writes: ['sessions/log'], reads: ['sessions/streams', 'execution', 'webhooks'] },
  session_previews: { writes: ['sessions/previews'] },
  preview_watches: { writes: ['sessions/previews'] },
  session_marks: { writes: ['console'] },
  open_streams: { writes: ['sessions/streams'] },
  turns: {
    writes: ['sessions/turns'],
    reads: ['sessions/session', 'sessions/runs', 'checkpoints', 'execution/workspace', 'housekeeping'],
  },
  runs: {
    writes: ['sessions/runs', 'execution/claim'],
    reads: [
      'sessions/previews',
      'console',
      'sessions/session',
      'sessions/leases',
      'checkpoints',
      'identity',
      'metrics',
    ],
  },
  run_budgets: { writes: ['sessions/runs'] },
  executions: {
    writes: ['sessions/runs', 'execution/claim'],
    reads: ['console', 'sessions/session', 'sessions/leases'],
  },
  leases: {
    writes: ['sessions/leases', 'execution/claim'],
    reads: ['sessions/session', 'sessions/reviews', 'sessions/publications', 'environments', 'metrics', 'housekeeping'],
  },
  workspace_requests: { writes: ['sessions/leases'], reads: ['execution/claim'] },
  interactions: { writes: ['sessions/interactions'], reads: ['console'] },
  remembered_decisions: { writes: ['sessions/interactions'] },
  artifacts: { writes: ['sessions/artifacts'], reads: ['sessions/runs', 'housekeeping'] },
  checkpoints: { writes: ['checkpoints'], reads: ['sessions/session'] },
  checkpoint_blobs: { writes: ['checkpoints'], reads: ['housekeeping'] },
  reviews: { writes: ['sessions/reviews'], reads: ['sessions/publications', 'housekeeping'] },
  review_requests: { writes: ['sessions/reviews'] },
  publications: { writes: ['sessions/publications'] },
  merges: { writes: ['sessions/merges'] },

  // Webhooks.
  webhook_endpoints: { writes: ['webhooks'] },
  webhook_deliveries: { writes: ['webhooks'] },
  // Environments.
  environments: { writes: ['environments'], reads: ['sessions/session'] },
  environment_revisions: { writes: ['environments'] },
  environment_secrets: { writes: ['environments'] },
  environment_images: { writes: ['environments'], reads: ['housekeeping'] },
  environment_archives: { writes: ['environments'], reads: ['housekeeping'] },
  environment_caches: { writes: ['environments'], reads: ['housekeeping'] },

  // Repositories and their hosts.
  host_connections: { writes: ['repositories'] },
  repository_grants: { writes: ['repositories'] },
  local_repositories: { writes: ['git-hosts'] },
  local_branch_rules: { writes: ['git-hosts'] },
  local_checks: { writes: ['git-hosts'] },
  local_pulls: { writes: ['git-hosts'] },
  local_merge_intents: { writes: ['git-hosts'] },

  // Models and runtimes.
  gateway_requests: { writes: ['gateway/accounting'] },
  gateway_budgets: { writes: ['gateway/accounting'] },
  gateway_models: { writes: ['gateway/accounting'] },
  runtime_release_probes: { writes: ['releases'], reads: ['housekeeping'] },
  runtime_release_engines: { writes: ['releases'], reads: ['housekeeping'] },
  runtime_hosts: { writes: ['runtimes'], reads: ['sessions/leases', 'execution/claim'] },

  // The deployment.
  deployment: { writes: ['storage'] },
  chores: { writes: ['housekeeping'] },
  schema_migrations: { writes: ['storage'] },
}
