/** Folders whose statements may name a table; `core/sessions` includes everything below it. */
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
 * `core/sessions/purge` deletes from every table of a Session; it has the list of those.
 */
export const tables: Readonly<Record<string, TableAccess>> = {
  // Identity.
  organizations: {
    writes: ['core/accounts', 'core/identity/development'],
    reads: folders(
      'server/admin server/console core/repositories core/environments core/sessions/runs triggers core/webhooks',
    ),
  },
  people: {
    writes: ['core/accounts', 'core/identity/development'],
    reads: ['server/console', 'core/sessions/runs', 'core/sessions/terminals'],
  },
  memberships: {
    writes: ['core/accounts', 'core/identity/development'],
    reads: ['server/console', 'core/sessions/runs'],
  },
  apps: { writes: ['core/accounts', 'core/identity/development'], reads: ['server/console', 'core/webhooks'] },
  installations: {
    writes: ['core/accounts', 'core/identity/development'],
    reads: folders(
      'core/identity server/admin server/console core/accounting core/repositories core/sessions/runs triggers core/webhooks',
    ),
  },
  api_keys: {
    writes: ['core/accounts', 'core/identity/development', 'core/identity/guard'],
    reads: ['core/accounting'],
    note: '`core/identity/guard/` notes its last use',
  },
  external_identities: { writes: ['core/accounts'] },
  recovery_codes: { writes: ['core/accounts'] },
  sign_ins: { writes: ['core/accounts'], reads: ['server/console', 'core/sessions/terminals'] },
  oidc_records: { writes: ['core/accounts'] },
  one_time_links: { writes: ['core/accounts'] },
  console_sessions: { writes: ['server/console'], reads: ['core/sessions/terminals'] },
  client_keys: { writes: ['core/accounts'] },
  signing_keys: { writes: ['core/accounts'], reads: ['core/identity'] },
  statement_keys: { writes: ['core/sessions/statements'] },
  app_keys: { writes: ['core/accounts'] },
  setup_authorities: { writes: ['core/accounts'] },
  installation_intents: { writes: ['core/accounts'] },
  audit_log: { writes: ['core/accounts'] },
  authority_changes: { writes: ['core/accounts'] },
  runtime_credentials: { writes: ['core/identity'] },
  rate_buckets: { writes: ['core/identity'] },

  // Sessions and everything that belongs to one.
  sessions: {
    writes: folders(
      'core/sessions/purge core/sessions/session core/sessions/log core/sessions/runs core/sessions/turns core/repositories core/checkpoints',
    ),
    reads: folders(
      'server/console core/sessions/streams core/sessions/trials core/sessions/leases core/sessions/follow-ups core/sessions/merges core/sessions/publications core/sessions/following core/delivery worker/workspace core/releases triggers core/webhooks',
    ),
    note: 'each other folder moves columns of its own',
  },
  purged_sessions: { writes: ['core/sessions/purge'], reads: ['core/sessions/session'] },
  session_secrets: { writes: ['core/sessions/log'] },
  session_tokens: { writes: ['core/sessions/log'] },
  events: {
    writes: ['core/sessions/log'],
    reads: folders(
      'server/console core/sessions/purge core/sessions/runs core/sessions/streams core/sessions/trials core/sessions/verifications worker core/webhooks',
    ),
  },
  event_pages: {
    writes: ['core/sealed-logs'],
    reads: ['core/housekeeping'],
    note: "by a function of the tables' owner",
  },
  session_previews: { writes: ['core/sessions/previews'] },
  session_marks: { writes: ['server/console'] },
  viewed_files: { writes: ['server/console'] },
  push_subscriptions: { writes: ['server/console'] },
  push_deliveries: { writes: ['server/console'] },
  file_requests: { writes: ['server/console'] },
  previews: { writes: ['server/console'] },
  next_turns: { writes: ['server/console'] },
  open_streams: { writes: ['core/sessions/streams'] },
  turns: {
    writes: ['core/sessions/turns', 'core/sessions/runs'],
    reads: folders(
      'core/sessions/session core/sessions/publications core/sessions/interactions core/sessions/following core/sessions/statements core/checkpoints worker/workspace core/housekeeping triggers',
    ),
    note: '`core/sessions/runs/` settles those that were to join a Run that ends',
  },
  runs: {
    writes: ['core/sessions/runs', 'worker/claim'],
    reads: folders(
      'core/sessions/previews server/console core/sessions/session core/sessions/leases core/sessions/following core/sessions/statements core/checkpoints core/accounting core/identity platform/metrics triggers',
    ),
    note: '`worker/claim/` claims',
  },
  organization_limits: {
    writes: ['core/sessions/runs', 'core/runtimes'],
    reads: ['core/accounting'],
    note: '`core/runtimes/` binds it to its own hosts; an operator sets its models',
  },
  executions: {
    writes: ['core/sessions/runs', 'worker/claim'],
    reads: folders(
      'core/sessions/purge server/console core/sessions/session core/sessions/leases platform/processes triggers',
    ),
    note: '`worker/claim/` claims',
  },
  processes: {
    writes: ['platform/processes'],
    reads: folders('core/accounting core/hosts core/sessions/runs worker/claim platform/storage'),
  },
  leases: {
    writes: ['core/sessions/leases', 'worker/claim'],
    reads: folders(
      'core/hosts core/sessions/purge server/console core/sessions/session core/sessions/reviews core/sessions/publications core/sessions/statements core/sessions/terminals core/sessions/trials core/sessions/runs core/environments core/delivery platform/metrics core/housekeeping',
    ),
    note: '`worker/claim/` keeps the progress of the agent',
  },
  terminals: { writes: ['core/sessions/terminals'], reads: ['server/console', 'core/sessions/publications'] },
  workspace_requests: { writes: ['core/sessions/leases'], reads: ['server/console', 'worker/claim'] },
  interactions: {
    writes: ['core/sessions/interactions'],
    reads: ['server/console', 'core/sessions/session', 'core/sessions/runs', 'core/sessions/statements'],
  },
  remembered_decisions: { writes: ['core/sessions/interactions'] },
  session_egress: { writes: ['core/sessions/egress'] },
  secret_uses: { writes: ['core/sessions/egress'] },
  artifacts: {
    writes: ['core/sessions/artifacts'],
    reads: ['server/console', 'core/sessions/runs', 'core/sessions/statements', 'core/housekeeping'],
  },
  checkpoints: {
    writes: ['core/checkpoints'],
    reads: folders('core/sessions/session core/sessions/terminals core/sessions/publications core/housekeeping'),
  },
  reviews: {
    writes: ['core/sessions/reviews'],
    reads: folders(
      'core/sessions/session core/sessions/publications core/sessions/following core/sessions/bringing core/housekeeping',
    ),
  },
  review_requests: {
    writes: ['core/sessions/reviews'],
    reads: ['server/console', 'core/sessions/session', 'core/sessions/following'],
  },
  verifications: { writes: ['core/sessions/verifications'], reads: ['core/sessions/reviews', 'triggers'] },
  publications: {
    writes: ['core/sessions/publications'],
    reads: folders(
      'core/sessions/purge core/sessions/reviews core/sessions/session core/sessions/following core/sessions/bringing server/console triggers',
    ),
  },
  merges: {
    writes: ['core/sessions/merges'],
    reads: ['core/sessions/purge', 'core/sessions/session', 'core/sessions/following', 'server/console'],
  },
  follow_ups: {
    writes: ['core/sessions/follow-ups'],
    reads: ['core/sessions/purge', 'core/sessions/following', 'server/console'],
  },

  // Webhooks.
  webhook_endpoints: { writes: ['core/webhooks'], reads: ['server/console'] },
  webhook_deliveries: { writes: ['core/sessions/purge', 'core/webhooks'], reads: ['server/console'] },
  // Triggers.
  triggers: { writes: ['triggers'], reads: ['server/console', 'core/sessions/leases'] },
  trigger_deliveries: { writes: ['triggers'] },
  trigger_reports: { writes: ['triggers'] },
  // Environments.
  environments: { writes: ['core/environments'], reads: ['server/console', 'core/sessions/session'] },
  environment_revisions: { writes: ['core/environments'] },
  environment_secrets: { writes: ['core/environments'] },
  environment_hosts: { writes: ['core/environments'], reads: ['core/sessions/interactions'] },
  environment_images: { writes: ['core/environments'], reads: ['core/housekeeping'] },
  environment_trials: { writes: ['core/sessions/trials'], reads: ['core/sessions/purge'] },
  environment_archives: { writes: ['core/environments'], reads: ['core/housekeeping'] },
  environment_caches: { writes: ['core/environments'], reads: ['core/housekeeping'] },

  // Repositories and their hosts.
  host_people: {
    writes: ['core/repositories', 'core/accounts/far'],
    note: 'a recovery ends them in `core/accounts/far/`',
  },
  host_people_begun: { writes: ['server/console'] },
  host_connections: { writes: ['core/repositories'], reads: ['server/console', 'triggers'] },
  repository_grants: { writes: ['core/repositories'], reads: ['core/sessions/following', 'triggers'] },
  local_repositories: { writes: ['core/git-hosts'] },
  local_branch_rules: { writes: ['core/git-hosts'] },
  local_checks: { writes: ['core/git-hosts'] },
  local_pulls: { writes: ['core/git-hosts'] },
  local_reviews: { writes: ['core/git-hosts'] },

  // Models and runtimes.
  gateway_requests: { writes: ['core/accounting'], reads: ['server/console', 'core/sessions/runs'] },
  gateway_daily_usage: { writes: ['core/accounting'] },
  gateway_usage: { writes: [], reads: ['core/accounting', 'server/console'] },
  gateway_budgets: { writes: ['core/accounting'], reads: ['core/sessions/session', 'core/sessions/interactions'] },
  runtime_release_probes: { writes: ['core/releases'], reads: ['core/housekeeping'] },
  runtime_release_engines: { writes: ['core/releases'], reads: ['core/housekeeping'] },
  hosts: {
    writes: ['core/hosts', 'core/runtimes'],
    reads: folders('server/console platform/metrics core/sessions/leases worker/claim'),
    note: '`core/runtimes/` notes the runtimes that a host announces',
  },

  // The deployment.
  deployment: {
    writes: ['platform/storage', 'core/accounts/far', 'server/console/push'],
    note: '`core/accounts/far/` keeps its place in the feed, and `server/console/push/` the keys of pushes',
  },
  chores: { writes: ['core/housekeeping'] },
  schema_migrations: { writes: ['platform/storage'] },
}
