/** Folders of the server whose statements may name a table; `sessions` includes everything below it. */
export interface TableAccess {
  readonly writes: readonly string[]
  /** Folders that read the table, besides those that write it. */
  readonly reads?: readonly string[]
  /** Says in the generated page which part of the table a folder writes that does not own all of it. */
  readonly note?: string
}

/** A list that would not fit on a line. */
const folders = (names: string): readonly string[] => names.split(' ')

/**
 * Says which folders' statements may name which table. The folders that write a table own its rules. A folder that only
 * reads it joins it in its own statement, because a second query would see the data at another moment. Only
 * `sessions/purge` deletes from every table of a Session; it has the list of those.
 */
export const tables: Readonly<Record<string, TableAccess>> = {
  // Identity.
  organizations: {
    writes: ['accounts', 'identity/development'],
    reads: ['admin', 'console', 'repositories', 'environments', 'sessions/runs', 'triggers', 'webhooks'],
  },
  people: { writes: ['accounts', 'identity/development'], reads: ['console', 'sessions/runs'] },
  memberships: { writes: ['accounts', 'identity/development'], reads: ['console', 'sessions/runs'] },
  apps: { writes: ['accounts', 'identity/development'], reads: ['console', 'webhooks'] },
  installations: {
    writes: ['accounts', 'identity/development'],
    reads: folders('identity admin console gateway/accounting repositories sessions/runs triggers webhooks'),
  },
  api_keys: {
    writes: ['accounts', 'identity/development', 'identity/guard'],
    reads: ['gateway/accounting'],
    note: '`identity/guard/` notes its last use',
  },
  external_identities: { writes: ['accounts'] },
  recovery_codes: { writes: ['accounts'] },
  sign_ins: { writes: ['accounts'], reads: ['console', 'sessions/terminals'] },
  oidc_records: { writes: ['accounts'] },
  one_time_links: { writes: ['accounts'] },
  console_sessions: { writes: ['console'] },
  console_tokens: { writes: ['console'] },
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
    writes: folders(
      'sessions/purge sessions/session sessions/log sessions/runs sessions/turns repositories checkpoints',
    ),
    reads: folders(
      'console sessions/streams sessions/trials sessions/leases sessions/merges sessions/publications delivery execution/workspace releases triggers webhooks',
    ),
    note: 'each other folder moves columns of its own',
  },
  purged_sessions: { writes: ['sessions/purge'], reads: ['sessions/session'] },
  session_secrets: { writes: ['sessions/log'] },
  session_tokens: { writes: ['sessions/log'] },
  events: {
    writes: ['sessions/log'],
    reads: folders('console sessions/purge sessions/runs sessions/streams sessions/trials execution webhooks'),
  },
  event_pages: { writes: ['sealed-logs'], reads: ['housekeeping'], note: "by a function of the tables' owner" },
  session_previews: { writes: ['sessions/previews'] },
  preview_watches: { writes: ['sessions/previews'] },
  session_marks: { writes: ['console'] },
  viewed_files: { writes: ['console'] },
  push_keys: { writes: ['console'] },
  push_subscriptions: { writes: ['console'] },
  push_deliveries: { writes: ['console'] },
  file_looks: { writes: ['console'] },
  port_previews: { writes: ['console'] },
  artifact_views: { writes: ['console'] },
  next_turns: { writes: ['console'] },
  open_streams: { writes: ['sessions/streams'] },
  turns: {
    writes: ['sessions/turns', 'sessions/runs'],
    reads: ['sessions/session', 'checkpoints', 'execution/workspace', 'housekeeping', 'triggers'],
    note: '`sessions/runs/` settles those that were to join a Run that ends',
  },
  runs: {
    writes: ['sessions/runs', 'execution/claim'],
    reads: folders(
      'sessions/previews console sessions/session sessions/leases checkpoints gateway/accounting identity metrics triggers',
    ),
    note: '`execution/claim/` claims',
  },
  run_budgets: { writes: ['sessions/runs'] },
  executions: {
    writes: ['sessions/runs', 'execution/claim'],
    reads: ['sessions/purge', 'console', 'sessions/session', 'sessions/leases', 'processes'],
    note: '`execution/claim/` claims',
  },
  processes: {
    writes: ['processes'],
    reads: ['hosts', 'sessions/runs', 'execution/claim', 'storage'],
  },
  leases: {
    writes: ['sessions/leases', 'execution/claim'],
    reads: folders(
      'hosts sessions/purge console sessions/session sessions/reviews sessions/publications sessions/terminals sessions/trials environments metrics housekeeping',
    ),
    note: '`execution/claim/` keeps the progress of the agent',
  },
  terminals: { writes: ['sessions/terminals'], reads: ['console'] },
  workspace_requests: { writes: ['sessions/leases'], reads: ['console', 'execution/claim'] },
  interactions: { writes: ['sessions/interactions'], reads: ['console'] },
  remembered_decisions: { writes: ['sessions/interactions'] },
  artifacts: { writes: ['sessions/artifacts'], reads: ['console', 'sessions/runs', 'housekeeping'] },
  checkpoints: { writes: ['checkpoints'], reads: ['sessions/session', 'sessions/terminals'] },
  checkpoint_blobs: { writes: ['checkpoints'], reads: ['housekeeping'] },
  reviews: { writes: ['sessions/reviews'], reads: ['sessions/publications', 'housekeeping'] },
  review_requests: { writes: ['sessions/reviews'], reads: ['console'] },
  publications: { writes: ['sessions/publications'], reads: ['sessions/purge', 'console', 'triggers'] },
  merges: { writes: ['sessions/merges'], reads: ['sessions/purge', 'console'] },

  // Webhooks.
  webhook_endpoints: { writes: ['webhooks'], reads: ['console'] },
  webhook_deliveries: { writes: ['sessions/purge', 'webhooks'], reads: ['console'] },
  // Triggers.
  triggers: { writes: ['triggers'] },
  trigger_deliveries: { writes: ['triggers'] },
  trigger_reports: { writes: ['triggers'] },
  // Environments.
  environments: { writes: ['environments'], reads: ['sessions/session'] },
  environment_revisions: { writes: ['environments'] },
  environment_secrets: { writes: ['environments'] },
  environment_images: { writes: ['environments'], reads: ['housekeeping'] },
  environment_trials: { writes: ['sessions/trials'], reads: ['sessions/purge'] },
  environment_archives: { writes: ['environments'], reads: ['housekeeping'] },
  environment_caches: { writes: ['environments'], reads: ['housekeeping'] },

  // Repositories and their hosts.
  host_people: { writes: ['repositories', 'accounts/far'], note: 'a recovery ends them in `accounts/far/`' },
  host_people_begun: { writes: ['console'] },
  host_connections: { writes: ['repositories'], reads: ['triggers'] },
  repository_grants: { writes: ['repositories'], reads: ['triggers'] },
  local_repositories: { writes: ['git-hosts'] },
  local_branch_rules: { writes: ['git-hosts'] },
  local_checks: { writes: ['git-hosts'] },
  local_pulls: { writes: ['git-hosts'] },
  local_merge_intents: { writes: ['git-hosts'] },

  // Models and runtimes.
  gateway_requests: { writes: ['gateway/accounting'], reads: ['console'] },
  gateway_daily_usage: { writes: ['gateway/accounting'] },
  gateway_usage: { writes: [], reads: ['gateway/accounting', 'console'] },
  gateway_budgets: { writes: ['gateway/accounting'] },
  gateway_models: { writes: ['gateway/accounting'] },
  runtime_release_probes: { writes: ['releases'], reads: ['housekeeping'] },
  runtime_release_engines: { writes: ['releases'], reads: ['housekeeping'] },
  hosts: {
    writes: ['hosts', 'runtimes'],
    reads: ['console', 'metrics', 'sessions/leases', 'execution/claim'],
    note: '`runtimes/` notes the runtimes that a host announces',
  },
  bound_organizations: { writes: ['runtimes'] },

  // The deployment.
  deployment: { writes: ['storage'] },
  chores: { writes: ['housekeeping'] },
  schema_migrations: { writes: ['storage'] },
}
