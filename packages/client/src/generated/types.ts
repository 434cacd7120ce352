// Written by `node script/client.ts` from the route table of @berth/contract. Do not edit.

/** The engine of a release, and how long to try it. */
export interface ActivateRuntimeReleaseProbe {
  engine: {
    sha256: string
    /** A public HTTPS URL that the service fetches once, without following redirects. Absent: the engine was uploaded before. */
    url?: string
  }
  /** At most 24 hours ahead. Default: one hour after the activation. */
  expiresAt?: string | null
}

/** A whole tool call, appended when it has ended. */
export interface ActivityCompletedData {
  activityId: string
  name: string
  kind: string
  title: string
  status: string
  input?: unknown
  output?: string
  diff?: Array<{
    path: string
    oldText: string | null
    newText: string
  }>
  truncated?: boolean
  durationMs: number
}

export interface AddConnection {
  host: string
  account: string
}

export interface AdmitHost {
  /** For people. */
  name: string
  pool?: string
  /** The most sandboxes that it may offer; absent: as many as it says. */
  capacity?: number
  /** `name=value`; they stand before those that the host gives itself. */
  labels?: string[]
}

export interface AdmittedHost {
  host: OwnHost
  /** For `berth host`; nothing reads it back. Whoever has it can be this host. */
  token: string
}

/** What a statement says of a commit: ids, results and digests, and no content. */
export interface AgentChange {
  signedAt: string
  session: {
    id: string
  }
  /** The delivery, the revision that it carries, and who asked for it. */
  publication: {
    id: string
    revision: string
    requestedBy?: Creator
  }
  /** The newest 1,000, oldest first, with who asked for each. */
  runs: Array<{
    id: string
    requestedBy: Creator
    runtime?: string
    status: string
  }>
  /** Count of the Runs before those. */
  runsOmitted?: number
  /** The agents of the Runs. `version` is what the deployment had installed when it signed; `release` is that of an uploaded engine. */
  runtimes: Array<{
    id: string
    version?: string
    release?: string
  }>
  /** The models that the Runs asked through the gateway. Without any cost there are no shares. */
  models: Array<{
    provider: string
    model: string
    requests: number
    costUsd: number
    costShare?: number
  }>
  cost: {
    usd: number
    /** False if the cost of a request is not known. */
    complete: boolean
  }
  /** What the checks ran in; `digest` is of its document as canonical JSON without `secrets`. */
  environment: {
    id: string
    revision: number
    digest: {
      sha256: string
    }
  }
  /** The passed verification of the revision, with the end of each check. */
  verification: {
    id: string
    startedAt?: string
    completedAt?: string
    checks: Array<{
      name: string
      /** Whether the verification fails with it. */
      required: boolean
      /** `passed` means that it exited with 0; `skipped`, that the change touches none of its `paths`. */
      state: 'waiting' | 'running' | 'passed' | 'failed' | 'skipped'
      /** Null if it was stopped, or ended by a signal. */
      exitCode?: number | null
      /** True if its time was over. */
      timedOut?: boolean
      durationMs?: number
      /** Digest of the Artifact with what it wrote; absent if there is none. */
      output?: {
        sha256: string
      }
    }>
  }
  /** The newest 1,000 decisions on approvals, oldest first. Rules decide those without `decidedBy`. */
  approvals: Array<{
    id: string
    runId: string
    decision: string
    decidedBy?: Decider
    decidedAt: string
  }>
  /** Count of the decisions before those. */
  approvalsOmitted?: number
  /** The Events of the Session when it was signed, by their sequences; of an old log, those of its chain. */
  log: {
    first: number
    last: number
    /** The log's chain digest at `last`. */
    digest?: {
      sha256: string
    }
  }
}

/** What became of a host that was allowed. */
export interface AllowedHost {
  host: string
  /** `allowed`: it holds for the Sessions of the environment, and is proposed as a change of its document. `proposed`: it is only proposed, since the environment asks nobody. `named`: the newest document names it. */
  state: string
}

export interface ApiKey {
  id: string
  kind: 'cloud' | 'ai'
  /** The last characters of the secret. */
  hint?: string
  createdAt: string
  expiresAt?: string
  /** To the minute. */
  lastUsedAt?: string
}

export interface ApiKeyList {
  success: true
  keys: ApiKey[]
}

export interface App {
  slug: string
  name: string
  /** Where a consent page may send people back to: `https`, or in development `http` on a loopback address. */
  redirectUrls: string[]
  createdAt: string
}

export interface AppEnvelope {
  success: true
  app: App
}

export interface AppKey {
  kid: string
  createdAt: string
  revokedAt?: string
}

export interface AppKeyList {
  success: true
  keys: AppKey[]
}

export interface AppList {
  success: true
  apps: App[]
}

/** The manifest of an immutable blob that a Session keeps; `getArtifactContent` returns its bytes. */
export interface Artifact {
  id: string
  sessionId: string
  runId?: string
  kind: string
  name: string
  mediaType: string
  sizeBytes: number
  sha256: string
  createdAt: string
}

/** The Session keeps a new Artifact. */
export interface ArtifactCreatedData {
  artifactId: string
  kind: string
  name: string
  mediaType: string
  sizeBytes: number
  sha256: string
  publicationId?: string
}

export interface ArtifactEnvelope {
  artifact: Artifact
}

/** A file, a checkpoint or a revision exceeded a limit or could not be made, so the Session does not keep it. */
export interface ArtifactOmittedData {
  kind: string
  name: string
  /** Size in bytes. For a checkpoint, the size reached when the service gave it up. */
  sizeBytes: number
  /** Number of files, directories and links, if it exceeds the limit. */
  count?: number
  /** Prose for people; it names the limit. */
  reason: string
}

/** A page of Artifacts, oldest first. */
export interface ArtifactPage {
  artifacts: Artifact[]
  nextCursor: string | null
  hasMore: boolean
}

export interface ArtifactViewLink {
  /** Opens the view once. */
  url: string
  expiresAt: string
}

export interface AuditEntry {
  id: string
  at: string
  /** Who did it: a person, an app, an installation, an operator or the service. */
  actor: {
    kind: string
    id: string | null
    name: string | null
  }
  /** Such as `member.removed`. */
  action: string
  /** What it was done to. */
  target: string | null
  /** How people call the target; null if nothing has its name any more. */
  targetName: string | null
  /** Network address of the client. */
  address: string | null
  outcome: string
  details: Record<string, unknown>
}

export interface AuditEntryPage {
  entries: AuditEntry[]
  nextCursor: string | null
  hasMore: boolean
}

export interface AuditFacets {
  /** Actions in the log, by name. */
  actions: string[]
  /** At most 200. */
  actors: Array<{
    kind: string
    id: string | null
    name: string | null
    /** The value of `actor` that asks for this actor. */
    filter: string
  }>
}

export interface AuditPage {
  success: true
  entries: AuditEntry[]
  nextCursor: string | null
  hasMore: boolean
}

/** The commands that the agent has in the background, and the last that have ended. */
export interface BackgroundUpdatedData {
  commands: Array<{
    /** The agent's own. */
    id: string
    /** Its beginning. */
    command: string
    /** Set if the rest of `command` was cut. */
    truncated?: boolean
    status: string
    startedAt: string
    exitCode?: number
  }>
  /** Set if some were left out; those that run come first. */
  truncated?: boolean
}

export interface Backlog {
  /** What has to be done. */
  kind: string
  waiting: number
  oldestAt: string | null
}

export interface BeginGitConnection {
  host: string
  /** Path of the page to return to. */
  returnTo?: string
}

/** Branches of a repository, in the order of their names. */
export interface BranchList {
  branches: string[]
  /** Whether there may be others. */
  hasMore: boolean
}

/** Most of a budget for models is spent. Told once. */
export interface BudgetReachedData {
  /** Whose budget it is. */
  scope: string
  spentUsd: number
  limitUsd: number
  /** The share of the limit that is spent at least. */
  share: number
}

/** How a check of a verification went. */
export interface CheckResult {
  name: string
  /** Whether the verification fails with it. */
  required: boolean
  /** `passed` means that it exited with 0; `skipped`, that the change touches none of its `paths`. */
  state: 'waiting' | 'running' | 'passed' | 'failed' | 'skipped'
  /** Null if it was stopped, or ended by a signal. */
  exitCode?: number | null
  /** True if its time was over. */
  timedOut?: boolean
  startedAt?: string
  durationMs?: number
  /** The last 8 KiB of what it wrote, while it runs so far; secrets are masked. */
  outputTail?: string
  /** The Artifact of the Session with what it wrote. */
  artifactId?: string
}

export interface Compute {
  /** `own_hosts`: Sessions get sandboxes on hosts of the organization alone. */
  runsOn: 'any_host' | 'own_hosts'
  /** Whether the organization has compute that it may run on. `shared`: it runs on any host. */
  standing: string
  /** Hosts of the organization alone, by name. */
  hosts: OwnHost[]
}

export interface ConnectGitAccount {
  account: string
  /** Only people whose own account reaches a repository may use it. */
  personalAccess?: boolean
}

export interface Connection {
  id: string
  /** The service's id of the Git host, such as `github:github.com` or `local`. */
  host: string
  provider: string
  /** The host's id of the account. */
  account: string
  accountLogin: string
  /** Whether every repository of the account is granted, later ones included. */
  allRepositories: boolean
  /** Only people whose own account at the host reaches a repository may use it. */
  personalAccess: boolean
  /** Active grants. With `allRepositories`, those that the service has seen. */
  repositories: Array<{
    grantId: string
    repositoryId: string
    fullName: string
  }>
}

export interface ConnectionEnvelope {
  success: true
  connection: Connection
}

export interface ConnectionList {
  success: true
  connections: Connection[]
  /** Accounts that an installation of the organization reaches and the organization itself does not. */
  available: Array<{
    /** The service's id of the Git host, such as `github:github.com` or `local`. */
    host: string
    provider: string
    /** The host's id of the account. */
    account: string
    accountLogin: string
  }>
}

/** The agent summarized its conversation to fit the context of its model. */
export interface ContextCompactedData {
  tokensBefore: number
  tokensAfter: number
}

/** Says whether the Session can admit a next Turn, and which work that Turn would continue. */
export interface Continuation {
  canContinue: boolean
  state: 'live' | 'fresh' | 'restorable' | 'unavailable'
  conversation: {
    fidelity: 'live' | 'exact' | 'result_only' | 'none'
  }
  workspace: {
    fidelity: 'live' | 'portable_tree' | 'none'
  }
  /** Why the next Turn will not continue earlier work; absent if it will. */
  reason?: 'no_prior_work' | 'session_archived' | 'checkpoint_missing' | 'checkpoint_incompatible' | 'source_unavailable'
  /** The Run from whose checkpoint the next Turn continues. */
  sealedByRunId?: string
}

/** The conversation was cleared, by the agent or by a reset of the Session. */
export interface ConversationClearedData {
  reason?: string
  /** Runs whose workspace and conversation are lost, oldest first. */
  lostRunIds?: string[]
}

/** Google's request body. The gateway passes all other fields on unchanged. */
export interface CountContentTokens {
  contents?: Array<Record<string, unknown>>
  generateContentRequest?: Record<string, unknown>
}

/** Anthropic's request body. The gateway passes all other fields on unchanged. */
export interface CountMessageTokens {
  /** Id or alias of a model; `listModels` lists them. */
  model: string
  messages: Array<Record<string, unknown>>
}

export interface CreateApiKey {
  kind: 'cloud' | 'ai'
  expiresAt?: string
  /** An active key that ends as this one begins. */
  replaces?: string
}

export interface CreateApp {
  /** Names the app for ever. Slugs that begin with `svc-` are reserved. */
  slug: string
  name: string
  /** Where a consent page may send people back to: `https`, or in development `http` on a loopback address. */
  redirectUrls?: string[]
}

/** OpenAI's request body. Fields that OpenAI does not document are refused. */
export interface CreateChatCompletion {
  /** Strings by name; the response returns them. */
  metadata?: Record<string, string> | null
  moderation?: Record<string, unknown> | null
  parallel_tool_calls?: boolean | null
  prompt_cache_key?: string | null
  prompt_cache_options?: Record<string, unknown> | null
  prompt_cache_retention?: string | null
  safety_identifier?: string | null
  service_tier?: string | null
  /** True needs a provider that speaks the format. The gateway itself keeps nothing. */
  store?: boolean | null
  stream?: boolean | null
  stream_options?: {
    include_usage?: boolean | null
    include_obfuscation?: boolean | null
  } | null
  temperature?: number | null
  tools?: Array<{
    type: string
  }> | null
  tool_choice?: string | Record<string, unknown> | null
  top_logprobs?: number | null
  top_p?: number | null
  user?: string | null
  /** Id or alias of a model; `listModels` lists them. */
  model: string
  /** Members and types that the gateway does not know pass to a provider that speaks the format. Where the gateway translates, it leaves out members that ask nothing of a model (`annotations`, `cache_control`, `created_at`, `extra_content`, `id`, `index`, `logprobs`, `metadata`, `name`, `parsed`, `parsed_arguments`, `phase`, `prompt_cache_breakpoint`, `provider_specific_fields`, `reasoning`, `reasoning_content`, `reasoning_details`, `reasoning_opaque`, `reasoning_text`, `role`, `signature`, `status`, `thinking_blocks`, `type`, and any that is null or empty), and refuses others with a 400 that names the path. */
  messages: Array<{
    role: 'developer' | 'system' | 'user' | 'assistant' | 'tool' | 'function'
  }>
  max_completion_tokens?: number | null
  max_tokens?: number | null
  n?: number | null
  stop?: string | string[] | null
  frequency_penalty?: number | null
  presence_penalty?: number | null
  logit_bias?: Record<string, unknown> | null
  logprobs?: boolean | null
  seed?: number | null
  reasoning_effort?: string | null
  verbosity?: string | null
  response_format?: Record<string, unknown> | null
  modalities?: string[] | null
  audio?: Record<string, unknown> | null
  prediction?: Record<string, unknown> | null
  web_search_options?: Record<string, unknown> | null
  functions?: Array<Record<string, unknown>> | null
  function_call?: string | Record<string, unknown> | null
}

export interface CreateInstallationIntent {
  /** A JWT that a registered Ed25519 key of the app signed: `iss` and `sub` are the app's slug, `aud` is the issuer, `exp - iat` is at most 600. */
  assertion: string
  /** What the installation would hold. */
  capabilities: Array<'svc.cloud.access' | 'svc.cloud.sessions:create' | 'svc.cloud.sessions:read' | 'svc.cloud.turns:submit' | 'svc.cloud.approvals:respond' | 'svc.cloud.repositories:read' | 'svc.cloud.publications:create' | 'svc.cloud.merges:create' | 'svc.cloud.transcriptions:create' | 'svc.cloud.runtime-releases:probe' | 'environments:manage' | 'environments:use' | 'svc.ai.invoke'>
  /** One of the app's `redirectUrls`, where the person is sent after the decision. */
  redirectUrl?: string
  /** Comes back with the redirect, which carries nothing else. */
  state?: string
}

export interface CreateIntegration {
  name: string
  /** `svc-cloud`, `svc-ai`, or the slug of an app of the organization. */
  product: string
  capabilities: Array<'svc.cloud.access' | 'svc.cloud.sessions:create' | 'svc.cloud.sessions:read' | 'svc.cloud.turns:submit' | 'svc.cloud.approvals:respond' | 'svc.cloud.repositories:read' | 'svc.cloud.publications:create' | 'svc.cloud.merges:create' | 'svc.cloud.transcriptions:create' | 'svc.cloud.runtime-releases:probe' | 'environments:manage' | 'environments:use' | 'svc.ai.invoke'>
}

export interface CreateInvitation {
  email: string
  role?: 'member' | 'admin'
  /** What the member may administer beside the role. An administrator holds every permission. */
  permissions?: Array<'organization.integrations.manage' | 'organization.applications.manage'>
}

/** Merges a pull request. */
export interface CreateMerge {
  strategy: 'merge' | 'squash' | 'rebase'
  mode?: 'immediate' | 'when_ready'
  commitTitle?: string | null
  commitMessage?: string | null
}

/** Anthropic's request body. The gateway passes all other fields on unchanged. */
export interface CreateMessage {
  /** Id or alias of a model; `listModels` lists them. */
  model: string
  messages: Array<Record<string, unknown>>
  max_tokens: number
  stream?: boolean
}

/** Publishes a reviewed revision. */
export interface CreatePublication {
  revision: string
  title: string
  delivery?: 'pull_request' | 'direct_branch'
  body?: string | null
  /** Head branch of the pull request; by default `svc/<session id>`. */
  branch?: string | null
  /** Open the pull request as a draft. */
  draft?: boolean
  /** Refuse unless the newest verification of the revision has passed. */
  verified?: boolean
  followUp?: FollowUpRequest
}

/** OpenAI's request body. Fields that OpenAI does not document are refused. */
export interface CreateResponse {
  /** Strings by name; the response returns them. */
  metadata?: Record<string, string> | null
  moderation?: Record<string, unknown> | null
  parallel_tool_calls?: boolean | null
  prompt_cache_key?: string | null
  prompt_cache_options?: Record<string, unknown> | null
  prompt_cache_retention?: string | null
  safety_identifier?: string | null
  service_tier?: string | null
  /** True needs a provider that speaks the format. The gateway itself keeps nothing. */
  store?: boolean | null
  stream?: boolean | null
  stream_options?: {
    include_usage?: boolean | null
    include_obfuscation?: boolean | null
  } | null
  temperature?: number | null
  tools?: Array<{
    type: string
  }> | null
  tool_choice?: string | Record<string, unknown> | null
  top_logprobs?: number | null
  top_p?: number | null
  user?: string | null
  /** Id or alias of a model; `listModels` lists them. */
  model: string
  /** Text, or a list of items: messages, calls, call outputs and reasoning. Members and types that the gateway does not know pass to a provider that speaks the format. Where the gateway translates, it leaves out members that ask nothing of a model (`annotations`, `cache_control`, `created_at`, `extra_content`, `id`, `index`, `logprobs`, `metadata`, `name`, `parsed`, `parsed_arguments`, `phase`, `prompt_cache_breakpoint`, `provider_specific_fields`, `reasoning`, `reasoning_content`, `reasoning_details`, `reasoning_opaque`, `reasoning_text`, `role`, `signature`, `status`, `thinking_blocks`, `type`, and any that is null or empty), and refuses others with a 400 that names the path. */
  input: string | Array<Record<string, unknown>>
  instructions?: string | null
  max_output_tokens?: number | null
  max_tool_calls?: number | null
  reasoning?: Record<string, unknown> | null
  text?: {
    format?: Record<string, unknown> | null
    verbosity?: string | null
  } | null
  /** Needs a provider that speaks the format, except for `reasoning.encrypted_content`, which an answer has anyway. */
  include?: string[] | null
  truncation?: string | null
  context_management?: Array<Record<string, unknown>> | null
  prompt?: Record<string, unknown> | null
  image?: Record<string, unknown> | null
  access_programs?: unknown
  client_metadata?: Record<string, unknown> | null
  /** Must not be true: the gateway does not answer later. */
  background?: boolean | null
  /** Must be null: the gateway keeps nothing, so send the earlier items again. */
  previous_response_id?: string | null
  /** Must be null: the gateway keeps nothing, so send the earlier items again. */
  conversation?: string | Record<string, unknown> | null
}

/** Creates a Session; an empty object creates an idle one. */
export interface CreateSession {
  title?: string
  initialTurn?: {
    id: string
    message: string
    output?: OutputRequest
  }
  model?: string | null
  /** How hard the model may think; null for the model's default. */
  effort?: 'minimal' | 'low' | 'medium' | 'high' | 'max' | null
  runtime?: string | null
  origin?: {
    /** The caller's opaque id of its tenant. */
    tenantKey?: string
    /** The caller's name for the kind of record. */
    objectType?: string
    /** The caller's id of the record. */
    objectId?: string
    /** A one-way hash of the user's id; never personal data. */
    endUserId?: string
    label?: string
    /** HTTPS link to the record. */
    url?: string
  }
  source?: {
    grantId: string
    repositoryId: string
    /** By default the host's default branch. In a repository without a commit it may be any name: the first commit makes the branch. */
    baseBranch?: string
    label?: string
    kind?: string
  }
  environment?: {
    id: string
  } | null
  budget?: {
    /** US dollars for models, over all Runs. A Run that reaches it waits for people. */
    costUsd: number
  } | null
}

/** Verifies a reviewed revision. */
export interface CreateVerification {
  revision: string
  /** Run the checks even if the Session has results of them on this tree. */
  fresh?: boolean
}

export interface CreatedApiKey {
  success: true
  key: ApiKey
  /** Shown this once. */
  secret: string
}

export interface CreatedInvitation {
  success: true
  invitation: Invitation
  /** The link to hand over. It is shown once, and works once. */
  url: string
}

/** The installation or the person that created a resource. */
export interface Creator {
  kind: string
  id: string
}

/** Decides an approval. */
export interface DecideInteraction {
  requestId: string
  choice: 'allow_once' | 'allow_turn' | 'allow_chat' | 'allow_project' | 'deny'
  /** Create one for each decision, and reuse it when you repeat the request. */
  idempotencyKey: string
}

/** The installation or the person whose decision counts. */
export interface Decider {
  kind: string
  id: string
}

export interface DecisionEnvelope {
  outcome: {
    interactionId: string
    choice: 'allow_once' | 'allow_turn' | 'allow_chat' | 'allow_project' | 'deny'
    status: 'open' | 'resolved' | 'expired'
    resolution: string | null
    decidedBy?: Decider
  }
}

export interface DefaultEnvironment {
  environment: Environment | null
}

/** A sub-agent has ended. */
export interface DelegationCompletedData {
  delegationId: string
  childSessionId?: string
  status: string
  summary?: string
}

/** The agent has given a task to a sub-agent. */
export interface DelegationStartedData {
  /** Marks the sub-agent's tool calls in `svc.run.progress`. */
  delegationId: string
  /** What the agent asked of it, cut at 16,000 bytes of UTF-8. */
  task: string
  /** The name of its definition, if the workspace has one for it. */
  agent?: string
}

/** How the changes of a trigger's Runs are published. */
export interface DeliverOfTrigger {
  /** A pull request, or a commit on the branch itself. */
  kind: 'pull_request' | 'direct_branch'
  /** Open the pull request as a draft; `false` if absent. */
  draft?: boolean
  /** The title, with placeholders as in `message`; by default it is made of what `text` says. */
  title?: string
  /** `summary` if absent: title and text are the agent's last message. `output` asks the agent for both as JSON. */
  text?: 'summary' | 'output'
  /** Verify the revision first, and publish it only if that has passed. */
  verified?: boolean
  followUp?: FollowUpOfTrigger
}

/** The limits of the deployment, and the capabilities of the caller. */
export interface Discovery {
  limits: {
    maxMessageCharacters: number
    maxPageSize: number
    maxTurns: number
    maxFilesPerTurn: number
  }
  artifacts: {
    conversationCheckpointMaxBytes: number
    workspaceCheckpointMaxBytes: number
    presentedFileMaxBytes: number
    presentedFilesMaxBytes: number
    presentedFilesMax: number
    summaryMaxBytes: number
  }
  /** The sandbox platforms of the deployment; the managed one comes first. */
  environments: Array<{
    kind: string
    workspace: {
      maxCheckpointBytes: number
      leaseIdleSeconds: number
      leaseMaxSeconds: number
    }
  }>
  /** Limits of the environments that an organization writes. */
  organizationEnvironments: {
    maxLive: number
    documentMaxBytes: number
    setupMaxCharacters: number
    maxVariables: number
    maxSecrets: number
    secretMaxBytes: number
    secretsMaxBytes: number
    archiveMaxBytes: number
    archivesMaxBytes: number
  }
  /** The capabilities that the credential holds. */
  capabilities: string[]
}

/** What the sandboxes of a Session had to do with a host. */
export interface EgressHost {
  host: string
  port: number
  /** Connections that were made. */
  reached: number
  /** Connections that were refused. */
  refused: number
  sentBytes: number
  receivedBytes: number
  firstAt: string
  lastAt: string
  /** Why the last refusal was. */
  lastReason?: string
  /** Secrets that the proxy has put into requests to the host, and how often. */
  secrets: Array<{
    name: string
    uses: number
  }>
}

/** Connections of a sandbox were refused. At most twenty a minute tell their host. */
export interface EgressRefusedData {
  /** Absent with `further`, and for a name that is too long to be one. */
  host?: string
  port?: number
  /** `policy`: the operator’s settings, or the address. `never_host`: the policy of the organization. `not_listed`: the environment names its hosts, and not this one. `denied`, `timed_out`: a person, or nobody in time. `undecided`: the connection has waited its time, and people may still decide. `nobody_to_ask`: no person looks after this work. `too_many_asked`: the Run has its most hosts open for people. `secret_not_for_host`: a secret that is not for this host, or in its name. `further`: refusals beyond twenty a minute, together. */
  reason: string
  /** What the program was answered. */
  message?: string
  /** Connections that were refused within ten seconds. */
  count: number
  /** People would have been asked, had there been any. */
  wouldAsk?: true
}

/** How fresh sandboxes of the Sessions bound to it are set up. */
export interface Environment {
  id: string
  name: string
  revision: number
  isDefault: boolean
  archivedAt: string | null
  document: EnvironmentDocument
  archives: EnvironmentArchive[]
  secrets: Array<{
    name: string
    version: number
    /** `variable`: programs get the value. `egress`: they get a placeholder, and the proxy puts the value into requests to the hosts of `egress`. */
    exposure: 'variable' | 'egress'
    /** Where the value goes. The proxy of the sandbox puts it into requests; programs hold a placeholder. */
    egress?: {
      /** The hosts that get it, over HTTPS. */
      hosts: string[]
      /** The methods of requests that get it; absent: all. */
      methods?: Array<'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE' | 'OPTIONS'>
      /** Paths below which requests get it: `/v1` is that path and everything below it, and not `/v10`. */
      paths?: string[]
      /** Where a request holds the value: exactly one of `header`, `basic` and `query`. */
      put: {
        /** The header of requests that holds it. */
        header?: string
        /** The value of that header, with `{value}` once; absent: `Bearer {value}` in `Authorization`, and `{value}` elsewhere. */
        format?: string
        /** Basic authentication. */
        basic?: {
          /** The user, beside which it is the password. */
          user: string
        }
        /** The parameter of the query that holds it. */
        query?: string
      }
      /** Whether setup scripts may use it as well; false if left out. */
      setup?: boolean
    }
  }>
  createdBy: {
    kind: 'person' | 'installation'
    id: string
    via?: {
      sessionId: string
      runId: string
    }
  }
  createdAt: string
  warnings: Array<{
    path: Array<string | number>
    message: string
  }>
  /** Hosts that people allowed in Sessions and that the document does not name: they hold where it asks. Write the document with a host to accept it. */
  proposedHosts: ProposedHost[]
}

/** The apply of an environment to a sandbox has started, succeeded or failed. */
export interface EnvironmentApplyData {
  leaseId: string
  environmentId: string
  name: string
  revision: number
  status: 'started' | 'succeeded' | 'failed'
  cache?: string
  cacheSkip?: {
    reason: string
    path: string
  }
  cacheDiscarded?: {
    reason: string
  }
  /** Absent if the script did not run, or did not exit by itself. */
  setupExitCode?: number
  /** Since `started`. */
  durationMs?: number
  /** The last 8 KiB that clones and the setup script wrote, with secrets masked. */
  outputTail?: string
  errorCode?: string
  github?: {
    status: string
    /** Logins of accounts, at most 16; if granted. */
    owners?: string[]
    reason?: string
  }
  repositories?: Array<{
    repository: string
    path: string
    state: string
  }>
  extensions?: Array<{
    ref: string
    id?: string
    version?: string
    sha256?: string
    state: string
    reason?: string
  }>
  /** Whether the sandbox started from what an earlier setup made. Absent unless the document says `prebuild`. */
  prebuilt?: {
    state: string
    reason?: string
  }
  /** Whether the sandbox shows the packages of the document: from a layer made for it, from an earlier one, or as a part of its own system. Absent unless the document names packages. */
  packages?: {
    state: string
    /** In words for people; if unavailable. */
    reason?: string
  }
  /** Secrets of the environment that the sandbox does not get; absent if there is none. */
  secretsLeftOut?: Array<{
    name: string
    reason: string
  }>
}

/** An extension that was uploaded to an environment. */
export interface EnvironmentArchive {
  archive: string
  sizeBytes: number
  extension: {
    id: string
    name: string
    version: string
  }
}

export interface EnvironmentArchiveEnvelope {
  archive: EnvironmentArchive
}

/** The document of an environment, with every member; `preview` only if it has one. */
export interface EnvironmentDocument {
  name: string
  description: string
  /** A bash script. It runs in every fresh sandbox of a bound Session, before the first Turn. */
  setup: string
  /** Variables of the setup script and the agent. */
  variables: Record<string, string>
  extensions: Array<{
    catalog?: string
    archive?: string
  }>
  cache: {
    /** Directories that are kept between sandboxes: `~/…`, or relative to the workspace. */
    paths: string[]
  }
  /** Whether sandboxes get short-lived tokens of the Git host. */
  github: boolean
  repositories: Array<{
    /** `owner/name`. */
    repository: string
    branch?: string
    /** A directory below `/workspace`; by default the name of the repository. */
    path?: string
  }>
  /** Whether what setup makes of workspace and home is kept, and later sandboxes start from it without running setup. */
  prebuild: boolean
  /** Debian packages that sandboxes show with the host's own system. */
  packages: string[]
  /** Commands that say whether a change is good, in the order in which they run. */
  checks: Array<{
    /** Unique in the document. */
    name: string
    /** A bash script; it passes if it exits with 0. */
    run: string
    /** 600 if left out. */
    timeoutSeconds?: number
    /** Whether a verification fails with it; true if left out. */
    required?: boolean
    /** Globs of `?`, `*` and `**` below the repository: it only runs if the change touches a file that one of them matches. */
    paths?: string[]
    /** Secrets of the environment that it gets as variables; none if left out. The change that is checked can read them. */
    secrets?: string[]
    /** Marks a check that takes seconds: Berth's own agent runs it before it ends; false if left out. */
    quick?: boolean
  }>
  /** Run while a person keeps an idle Session's sandbox running to look at it. */
  preview?: {
    /** A bash script that serves the work until it is ended. It gets the variables, and no secrets. */
    command: string
    /** On which it listens. */
    port?: number
  }
  /** Which hosts sandboxes reach, within what the operator allows. */
  network: {
    /** `open`: every host that the operator opens. `listed`: those of `hosts` alone. `ask`: those, and people are asked for another one. */
    mode: 'open' | 'listed' | 'ask'
    /** None if left out. */
    hosts: string[]
  }
  /** Whether a revision is only published, and merged, once a verification of it has passed. */
  requireVerified: boolean
  /** What the revision pins; the newest revision has the values. */
  secrets: Array<{
    name: string
    version: number
    /** `variable`: programs get the value. `egress`: they get a placeholder, and the proxy puts the value into requests to the hosts of `egress`. */
    exposure: 'variable' | 'egress'
    /** Where the value goes. The proxy of the sandbox puts it into requests; programs hold a placeholder. */
    egress?: {
      /** The hosts that get it, over HTTPS. */
      hosts: string[]
      /** The methods of requests that get it; absent: all. */
      methods?: Array<'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE' | 'OPTIONS'>
      /** Paths below which requests get it: `/v1` is that path and everything below it, and not `/v10`. */
      paths?: string[]
      /** Where a request holds the value: exactly one of `header`, `basic` and `query`. */
      put: {
        /** The header of requests that holds it. */
        header?: string
        /** The value of that header, with `{value}` once; absent: `Bearer {value}` in `Authorization`, and `{value}` elsewhere. */
        format?: string
        /** Basic authentication. */
        basic?: {
          /** The user, beside which it is the password. */
          user: string
        }
        /** The parameter of the query that holds it. */
        query?: string
      }
      /** Whether setup scripts may use it as well; false if left out. */
      setup?: boolean
    }
  }>
}

/** The document of an environment, at most 256 KiB. */
export interface EnvironmentDraft {
  name: string
  description?: string
  /** A bash script. It runs in every fresh sandbox of a bound Session, before the first Turn. */
  setup?: string
  /** Variables of the setup script and the agent. */
  variables?: Record<string, string>
  extensions?: Array<{
    catalog?: string
    archive?: string
  }>
  cache?: {
    /** Directories that are kept between sandboxes: `~/…`, or relative to the workspace. */
    paths: string[]
  }
  /** Whether sandboxes get short-lived tokens of the Git host. */
  github?: boolean
  repositories?: Array<{
    /** `owner/name`. */
    repository: string
    branch?: string
    /** A directory below `/workspace`; by default the name of the repository. */
    path?: string
  }>
  /** Whether what setup makes of workspace and home is kept, and later sandboxes start from it without running setup. */
  prebuild?: boolean
  /** Debian packages that sandboxes show with the host's own system. */
  packages?: string[]
  /** Commands that say whether a change is good, in the order in which they run. */
  checks?: Array<{
    /** Unique in the document. */
    name: string
    /** A bash script; it passes if it exits with 0. */
    run: string
    /** 600 if left out. */
    timeoutSeconds?: number
    /** Whether a verification fails with it; true if left out. */
    required?: boolean
    /** Globs of `?`, `*` and `**` below the repository: it only runs if the change touches a file that one of them matches. */
    paths?: string[]
    /** Secrets of the environment that it gets as variables; none if left out. The change that is checked can read them. */
    secrets?: string[]
    /** Marks a check that takes seconds: Berth's own agent runs it before it ends; false if left out. */
    quick?: boolean
  }>
  /** Run while a person keeps an idle Session's sandbox running to look at it. */
  preview?: {
    /** A bash script that serves the work until it is ended. It gets the variables, and no secrets. */
    command: string
    /** On which it listens. */
    port?: number
  }
  /** Which hosts sandboxes reach, within what the operator allows. */
  network?: {
    /** `open`: every host that the operator opens. `listed`: those of `hosts` alone. `ask`: those, and people are asked for another one. */
    mode: 'open' | 'listed' | 'ask'
    /** None if left out. */
    hosts?: string[]
  }
  /** Whether a revision is only published, and merged, once a verification of it has passed. */
  requireVerified?: boolean
  /** What the revision pins; the newest revision has the values. */
  secrets?: Array<{
    name: string
    version: number
    /** `variable`: programs get the value. `egress`: they get a placeholder, and the proxy puts the value into requests to the hosts of `egress`. */
    exposure?: 'variable' | 'egress'
    /** Where the value goes. The proxy of the sandbox puts it into requests; programs hold a placeholder. */
    egress?: {
      /** The hosts that get it, over HTTPS. */
      hosts: string[]
      /** The methods of requests that get it; absent: all. */
      methods?: Array<'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE' | 'OPTIONS'>
      /** Paths below which requests get it: `/v1` is that path and everything below it, and not `/v10`. */
      paths?: string[]
      /** Where a request holds the value: exactly one of `header`, `basic` and `query`. */
      put: {
        /** The header of requests that holds it. */
        header?: string
        /** The value of that header, with `{value}` once; absent: `Bearer {value}` in `Authorization`, and `{value}` elsewhere. */
        format?: string
        /** Basic authentication. */
        basic?: {
          /** The user, beside which it is the password. */
          user: string
        }
        /** The parameter of the query that holds it. */
        query?: string
      }
      /** Whether setup scripts may use it as well; false if left out. */
      setup?: boolean
    }
  }>
}

export interface EnvironmentEnvelope {
  environment: Environment
}

/** What clones and the setup script wrote, with secrets masked: at most once a second, and the first 128 KiB. */
export interface EnvironmentOutputData {
  leaseId: string
  revision: number
  /** Bytes of UTF-8 in the pieces before this one. */
  offset: number
  text: string
}

/** A page of environments by name. */
export interface EnvironmentPage {
  environments: Environment[]
  defaultEnvironmentId: string | null
  nextCursor: string | null
  hasMore: boolean
}

/** One revision of an environment; it never changes. */
export interface EnvironmentRevision {
  revision: number
  createdAt: string
  createdBy: {
    kind: 'person' | 'installation'
    id: string
    via?: {
      sessionId: string
      runId: string
    }
  }
  document: EnvironmentDocument
  secrets: Array<{
    name: string
    version: number
    /** `variable`: programs get the value. `egress`: they get a placeholder, and the proxy puts the value into requests to the hosts of `egress`. */
    exposure: 'variable' | 'egress'
    /** Where the value goes. The proxy of the sandbox puts it into requests; programs hold a placeholder. */
    egress?: {
      /** The hosts that get it, over HTTPS. */
      hosts: string[]
      /** The methods of requests that get it; absent: all. */
      methods?: Array<'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE' | 'OPTIONS'>
      /** Paths below which requests get it: `/v1` is that path and everything below it, and not `/v10`. */
      paths?: string[]
      /** Where a request holds the value: exactly one of `header`, `basic` and `query`. */
      put: {
        /** The header of requests that holds it. */
        header?: string
        /** The value of that header, with `{value}` once; absent: `Bearer {value}` in `Authorization`, and `{value}` elsewhere. */
        format?: string
        /** Basic authentication. */
        basic?: {
          /** The user, beside which it is the password. */
          user: string
        }
        /** The parameter of the query that holds it. */
        query?: string
      }
      /** Whether setup scripts may use it as well; false if left out. */
      setup?: boolean
    }
  }>
}

/** A page of revisions, newest first. */
export interface EnvironmentRevisionPage {
  revisions: EnvironmentRevision[]
  nextBefore: number | null
}

export interface EnvironmentTrial {
  id: string
  environmentId: string
  /** The revision that is tried; null until a worker makes the sandbox. */
  revision: number | null
  state: 'starting' | 'applying' | 'succeeded' | 'failed' | 'stopped'
  /** Why it was stopped; only in the state `stopped`. */
  stopReason?: string
  startedBy: Creator
  createdAt: string
  /** When it is stopped at the latest. */
  endsAt: string
  /** When its sandbox was given back. */
  endedAt: string | null
  /** What the apply says at its end; null until then, and if it never began. */
  result: null | EnvironmentApplyData
}

export interface EnvironmentTrialEnvelope {
  trial: EnvironmentTrial
}

/** One fact of a Session's log. */
export interface Event {
  /** Stable across replays; use it to drop duplicates. */
  id: string
  /** The set is open; ignore types you do not know. */
  type: string
  createdAt: string
  /** Position in the Session's log, without gaps; it is also the cursor for reading on. */
  sequence: number
  visibility?: string
  subject: {
    sessionId: string
    runId?: string
  }
  data: Record<string, unknown>
}

/** A page of the log, in order. */
export interface EventPage {
  events: Event[]
  /** The newest sequence of the Session; read on while it is greater than that of the last Event. */
  lastSequence: number
}

export interface ExchangeEndUserToken {
  /** A JWT that a registered Ed25519 key of the app signed: `iss` and `sub` are the app's slug, `aud` is the issuer, `exp - iat` is at most 600. */
  assertion: string
  installationId: string
  /** The app's own name for one of its users; usage is attributed to it. */
  endUserId: string
}

export interface ExchangeInstallationToken {
  /** A JWT that a registered Ed25519 key of the app signed: `iss` and `sub` are the app's slug, `aud` is the issuer, `exp - iat` is at most 600. */
  assertion: string
  installationId: string
  /** `svc-cloud` or `svc-ai`. */
  resourceAudience: string
  /** From an authorized intent: the token then also ends with the membership of whoever consented. */
  setupAuthorityId?: string
}

/** The extensions that documents may name by a slug. */
export interface ExtensionList {
  extensions: Array<{
    /** What `extensions[].catalog` of a document names. */
    slug: string
    id: string
    name: string
    /** The newest release that this platform can run. */
    version: string
    sha256: string
    sizeBytes: number
    /** The newest release of all, where that needs a newer platform. */
    newest?: string
  }>
  /** Extensions that the operator offers by an archive that cannot be had now; absent if there is none. */
  missing?: MissingExtension[]
}

export interface FenceEnvelope {
  fence: {
    runId: string
    turnId: string
    attempt: number
    /** Increases by one each time another worker takes over. */
    token: number
    holder: string
    acquiredAt: string
    heartbeatAt: string
    expiresAt: string
  } | null
}

export interface FinishGitConnection {
  state: string
  code: string
}

/** What the service does for a pull request until it is merged. */
export interface FollowUp {
  sessionId: string
  /** The Publication with which it began. */
  publicationId: string
  pullRequest: {
    number: number
    url: string
  }
  /** `working`: a Run is at it. `needs_person` rests until somebody resumes it. `merged`, `closed` and `stopped` are final. */
  state: 'watching' | 'working' | 'needs_person' | 'merged' | 'closed' | 'stopped'
  /** Why it needs a person, or was stopped. */
  reason?: string
  attempts: number
  maxAttempts: number
  /** Cost of its Runs that have ended, as far as it is known. */
  spentUsd: number
  budgetUsd: number | null
  until: string
  merge: string
  on: string[]
  /** Logins whose words count beside those of people who may push. */
  people: string[]
  headSha: string | null
  /** Its Turns, at most 20, newest first. */
  history: Array<{
    turnId: string
    cause: string
    at: string
    /** The Publication that delivered its work. */
    publicationId?: string
  }>
  startedAt: string
  updatedAt: string
  endedAt?: string
}

/** An event of the pull request has made a Turn. */
export interface FollowUpAttemptedData {
  /** The Publication with which it began. */
  publicationId: string
  pullRequest: {
    number: number
    url: string
  }
  attempt: number
  cause: string
  turnId: string
}

/** A follow-up has ended, or needs a person. */
export interface FollowUpEndedData {
  /** The Publication with which it began. */
  publicationId: string
  pullRequest: {
    number: number
    url: string
  }
  state: string
  reason?: string
}

export interface FollowUpEnvelope {
  followUp: FollowUp
}

/** The bounds of a follow-up. */
export interface FollowUpOfTrigger {
  /** How many Turns the events of the pull request may make. */
  maxAttempts?: number
  /** US dollars for models that the Runs of those Turns may cost. No Turn begins once they are spent. */
  budgetUsd?: number
  /** How long it goes on. */
  days?: number
  /** `when_ready` merges exactly the published head once the host takes it. It needs `svc.cloud.merges:create` as well. */
  merge?: 'never' | 'when_ready'
  /** What makes the agent work on. */
  on?: Array<'checks' | 'reviews' | 'conflicts' | 'base'>
  /** Logins at the Git host whose reviews and comments count, beside those of people who may push to the repository. Absent: those that it has. */
  people?: string[]
}

/** The bounds of a follow-up. */
export interface FollowUpRequest {
  /** How many Turns the events of the pull request may make. */
  maxAttempts?: number
  /** US dollars for models that the Runs of those Turns may cost. No Turn begins once they are spent. */
  budgetUsd?: number
  /** How long it goes on. */
  days?: number
  /** `when_ready` merges exactly the published head once the host takes it. It needs `svc.cloud.merges:create` as well. */
  merge?: 'never' | 'when_ready'
  /** What makes the agent work on. */
  on?: Array<'checks' | 'reviews' | 'conflicts' | 'base'>
  /** Logins at the Git host whose reviews and comments count, beside those of people who may push to the repository. Absent: those that it has. */
  people?: string[]
}

/** The service follows a pull request from now on. */
export interface FollowUpStartedData {
  /** The Publication with which it began. */
  publicationId: string
  pullRequest: {
    number: number
    url: string
  }
  maxAttempts: number
  until: string
}

/** Makes a new Session from where a Run ended. */
export interface ForkSession {
  /** Id of the new Session. With it, the request can be repeated safely. */
  id?: string
  /** The Run whose end the fork starts from; absent: the newest sealed one. */
  runId?: string
  title?: string
}

/** Google's request body. The gateway passes all other fields on unchanged. */
export interface GenerateContent {
  contents: Array<Record<string, unknown>>
}

export interface GitAccount {
  /** The host's id of the installation. */
  account: string
  accountLogin: string
  kind: string
  /** Which repositories of the account the App reaches. */
  repositories: string
  /** The person administers the account, so they may connect it. */
  administered: boolean
  /** The organization is connected to it already. */
  connected: boolean
}

export interface GitAccountList {
  accounts: GitAccount[]
  /** Where the App is installed on another account. */
  installUrl: string
}

export interface GitConnection {
  id: string
  /** The service's id of the Git host, such as `github:github.com`. */
  host: string
  provider: string
  /** The account's name at the host. */
  login: string
  /** `expired`: the host no longer takes it, so it has to be made again. */
  status: string
  createdAt: string
}

export interface GitConnectionList {
  connections: GitConnection[]
  /** Hosts at which people can connect accounts. */
  hosts: Array<{
    /** The service's id of the Git host, such as `github:github.com`. */
    host: string
    provider: string
  }>
}

export interface GitConnectionMade {
  connection: GitConnection
  /** Path of the page. */
  returnTo: string
}

export interface GoTo {
  url: string
}

/** A model in Google's format. */
export interface GoogleModel {
  /** `models/` and the id: `<provider>/<model>`, or an alias. */
  name: string
  displayName: string
  inputTokenLimit?: number
  outputTokenLimit?: number
  supportedGenerationMethods: string[]
}

/** The models that the caller may use over Google's generateContent. */
export interface GoogleModelList {
  models: GoogleModel[]
  /** Absent on the last page. */
  nextPageToken?: string
}

export interface Health {
  at: string
  /** Of the deployment, by name. Those silent for a week are left out. */
  hosts: HealthHost[]
  runs: {
    queued: number
    dispatching: number
    running: number
    /** Waiting for people. */
    awaiting: number
    /** Queued Runs, the oldest first, at most 20. */
    oldest: QueuedRun[]
  }
  /** Runs that ended in the last 24 hours. */
  ended: {
    completed: number
    failed: number
    cancelled: number
    crashed: number
  }
  /** Live sandboxes, the newest first, at most 100. */
  leases: LiveLease[]
  liveLeases: number
  /** What waits for a worker or another service. */
  backlogs: Backlog[]
  /** Requests to models in the last hour. */
  models: {
    requests: number
    failed: number
  }
}

export interface HealthHost {
  name: string
  /** When it last announced itself. */
  seenAt: string
  /** Whether it has been silent for a minute: it starts nothing. */
  away: boolean
  /** Until when it starts nothing new, since it has failed; null: it does not rest. */
  restsUntil: string | null
  /** Runtimes that only some machines have. */
  runtimes: string[]
  /** Why it installs no system packages; null if it does. */
  packagesFault: string | null
  /** The organization's live sandboxes on it. */
  leases: number
}

export interface HookAnswer {
  delivery?: TriggerDelivery
  /** Why it makes nothing, for people. */
  ignored?: string
  /** What Slack asks to be told. */
  challenge?: string
}

export type HookBody = Record<string, unknown>

export interface Identity {
  success: true
  user: {
    id: string
    name: string
    email: string
  }
  organization: {
    id: string
    name: string
  }
  membership: {
    id: string
    role: 'member' | 'admin'
  }
  organizationId: string
  membershipId: string
  capabilities: string[]
}

export interface Installation {
  id: string
  /** Whether a consent or an administrator made it. */
  kind: 'app' | 'integration'
  app: string
  /** The name of the app; absent once it is deleted. */
  appName?: string
  name?: string
  capabilities: string[]
  createdAt: string
  revokedAt?: string
}

export interface InstallationEnvelope {
  success: true
  installation: Installation
}

export interface InstallationIntent {
  /** A secret, as is `authorizeUrl`. */
  id: string
  status: 'pending' | 'authorized' | 'expired'
  expiresAt: string
  /** Where a person decides. */
  authorizeUrl: string
  /** While the intent is `authorized`. */
  installationId?: string
  /** The consent, while the intent is `authorized`. */
  setupAuthorityId?: string
}

export interface InstallationIntentEnvelope {
  success: true
  intent: InstallationIntent
}

export interface InstallationList {
  success: true
  installations: Installation[]
}

export interface Integration {
  id: string
  installationId: string
  name: string
  product: string
  capabilities: string[]
  createdAt: string
  /** Active keys. */
  keys: ApiKey[]
}

export interface IntegrationEnvelope {
  success: true
  integration: Integration
}

export interface IntegrationList {
  success: true
  integrations: Integration[]
}

/** A question, a plan or an approval for which an agent waits for people. */
export interface Interaction {
  /** Opaque; send it back unchanged. */
  id: string
  sessionId: string
  runId: string
  kind: 'ask_user' | 'exit_plan_mode' | 'approval'
  status: 'open' | 'resolved' | 'expired'
  /** The agent's request; its fields depend on the kind of the Interaction. */
  request: {
    /** With `ask_user`. */
    questions?: Array<{
      question: string
      options: string[]
      header?: string
      recommendedIndex?: number
      multiSelect?: boolean
      allowCustom?: boolean
      fieldId?: string
      customFieldId?: string
      /** One value for each option. */
      optionValues?: unknown[]
      valueType?: 'string' | 'number' | 'integer' | 'boolean' | 'string[]'
      required?: boolean
      defaultValue?: unknown
      format?: 'email' | 'uri' | 'date' | 'date-time'
      minLength?: number
      maxLength?: number
      pattern?: string
      minimum?: number
      maximum?: number
      minItems?: number
      maxItems?: number
    }>
    /** With `exit_plan_mode`. */
    prompt?: string
    /** With `exit_plan_mode`: the plan, in Markdown. */
    plan?: string
    /** Set if the plan was too long and was cut; the end of `plan` says so too. */
    planTruncated?: boolean
    approval?: {
      /** Send it back with the decision. */
      requestId: string
      runId: string
      /** Unix time in milliseconds; the approval expires then. */
      deadline: number
      toolName: string
      title?: string
      input?: Record<string, unknown>
      options?: Array<{
        optionId: string
        name: string
        kind: 'allow_once' | 'allow_always' | 'reject_once' | 'reject_always'
        description?: string
      }>
      rememberScopes?: Array<'chat' | 'project' | 'turn'>
      kind?: 'read' | 'edit' | 'delete' | 'move' | 'search' | 'execute' | 'think' | 'fetch' | 'switch_mode' | 'other'
      reason?: string
      destination?: string
      itemId?: string
      confinement?: 'sandbox' | 'network' | 'outside'
    }
  }
  response?: {
    turnId: string
  }
  deadline?: string
  resolution?: string
  openedAt: string
  resolvedAt?: string
  expiredAt?: string
}

/** An Interaction was opened or closed. */
export interface InteractionData {
  interactionId: string
  kind: 'ask_user' | 'exit_plan_mode' | 'approval'
  status: 'open' | 'resolved' | 'expired'
  request?: Record<string, unknown>
  resolution?: string
  decidedBy?: Decider
  turnId?: string
  deadline?: string
}

/** The open Interactions of a Session, oldest first. */
export interface InteractionList {
  interactions: Interaction[]
}

export interface Invitation {
  id: string
  email: string
  role: string
  permissions: string[]
  createdAt: string
  expiresAt: string
}

export interface InvitationList {
  success: true
  invitations: Invitation[]
}

/** One invalid field of a request. */
export interface Issue {
  /** Path of the field, outermost member first; an integer is an array index. */
  path: Array<string | number>
  /** Prose for people; not part of the contract. */
  message: string
}

export interface IssuedToken {
  success: true
  token: string
  /** Seconds. */
  expiresIn: number
}

export interface LiveLease {
  sessionId: string
  title: string
  host: string
  runtime: string
  state: string
  /** Whether a Run uses it now. */
  working: boolean
  createdAt: string
  expiresAt: string
}

/** A pull request of a repository that the service itself hosts. */
export interface LocalPull {
  number: number
  url: string
  title: string
  body: string
  draft: boolean
  state: string
  headBranch: string
  headOid: string
  baseBranch: string
  mergeCommitOid?: string
  mergeable: string
  blockers: string[]
  /** Checks of an open pull request. */
  checks: PullCheck[]
  /** The latest reviews and comments, oldest first. */
  reviews: LocalReview[]
}

export interface LocalPullEnvelope {
  pull: LocalPull
}

/** A review of a pull request of a local repository, or a comment on it. */
export interface LocalReview {
  id: string
  author: {
    id: string
    name: string
  }
  /** Who wrote it; `service` is Berth. */
  by: string
  state: string
  body: string
  /** The head that it is about; the lines are its. */
  headOid: string
  comments: Array<{
    id: string
    threadId: string
    path: string
    line: number | null
    body: string
  }>
  createdAt: string
}

export interface LocalReviewEnvelope {
  review: LocalReview
}

/** What the log comes to at one of its Events: whoever keeps it finds out later whether an Event up to it was changed, removed, added or moved. */
export interface LogDigest {
  /** The Event up to which the log is digested; 0 if there are none. */
  sequence: number
  /** SHA-256 over the 32 bytes of the digest before it and the Event's text, in UTF-8, exactly as a page or a stream carries it. Null for an Event that is older than the chain, and if the Event is missing. */
  digest: string | null
  /** Sequence of the first Event of the chain: 1, unless the log is older than chains. The digest before it is SHA-256 of the text `berth log <session id> from <this number>`. Null while there is none. */
  beginsAt: number | null
  lastSequence: number
}

export interface MarkFileViewed {
  /** Path of the file, as the review has it; of a signal, `/signals/{kind}/{path}`. */
  path: string
  /** Tells one change of the file from the next; the client chooses it. */
  digest: string
  viewed: boolean
}

export interface MarkHost {
  /** `open`: it gets sandboxes, and does not rest any more. `cordoned`: it gets no more sandboxes. `drained`: it also gives back those that rest. */
  mark: 'open' | 'cordoned' | 'drained'
}

export interface MarkRead {
  /** Newest Event that the person has seen. */
  sequence: number
}

export interface MarkSession {
  pinned?: boolean
  /** Without a time, until the Session needs the person. Null ends it. */
  snoozed?: {
    until?: string
  } | null
}

export interface Member {
  /** Id of the membership. */
  id: string
  person: {
    id: string
    name: string
    email: string
  }
  role: string
  permissions: string[]
  createdAt: string
  /** Whether an operator has disabled the account. */
  disabled: boolean
}

export interface MemberEnvelope {
  success: true
  member: Member
}

export interface MemberList {
  success: true
  members: Member[]
}

export interface MemberReset {
  success: true
  /** The link to hand over. It is shown once, and works once. */
  url: string
  expiresAt: string
}

/** The merge of a Publication's pull request at exactly the published head. */
export interface Merge {
  id: string
  sessionId: string
  publicationId: string
  status: 'admitted' | 'attempted' | 'waiting' | 'succeeded' | 'failed'
  strategy: string
  mode: string
  pullRequestNumber: number
  expectedHeadSha: string
  mergedCommitSha?: string
  lastError?: {
    code: string
  }
  attempts: number
  createdAt: string
  updatedAt: string
  completedAt?: string
}

export interface MergeEnvelope {
  merge: Merge
}

/** A page of Merges, newest first. */
export interface MergePage {
  merges: Merge[]
  nextCursor: string | null
  hasMore: boolean
}

/** A whole message, appended when it is complete. */
export interface MessageCreatedData {
  messageId: string
  role: 'user' | 'assistant' | 'reasoning'
  text: string
  turnId?: string
  truncated?: boolean
}

/** An account of a Git host whose repositories an answer lacks. */
export interface MissingAccount {
  provider: string
  accountLogin: string
  /** `late`: the host did not answer in time, or has more repositories than one request reads. `rate_limited`, `unavailable`: it answers no requests now. `refused`: it no longer lets the service in. */
  reason: string
  /** A later page of this list asks the host again. */
  retried: boolean
}

/** An extension that the operator offers and an answer lacks. */
export interface MissingExtension {
  slug: string
  /** `late`: its archive is still being fetched. `unavailable`: it cannot be had; the log of the service says why. */
  reason: string
}

/** A model that the gateway serves. */
export interface Model {
  /** `<provider>/<model>`, or an alias. */
  id: string
  object: 'model'
  /** Seconds since 1970. */
  created: number
  /** Id of the provider. */
  owned_by: string
  context_length: number | null
  max_output_tokens: number | null
  supports_tools: boolean
  /** True if the model accepts a reasoning effort. */
  supports_reasoning: boolean
  /** How the provider's own format asks the model to think; null if it does not reason. */
  reasoning_control: string | null
  /** The provider's word for each of Berth's efforts; null if the model does not reason. */
  reasoning_words: Record<string, string> | null
  /** The provider's own name for the model. */
  provider_model: string
  /** Formats that the provider speaks itself, and those of all fallbacks too. The gateway can translate `chat` and `responses`; it only passes the others through. */
  native_wires: string[]
  input_modalities: string[]
  /** US dollars per million tokens; null if the price, and therefore the cost, is unknown. */
  pricing: {
    input: number
    cached_input: number
    cache_write: number
    output: number
  } | null
}

export interface ModelCheck {
  /** Those of models that the organization may use, in the order of the configuration file. */
  providers: Array<{
    id: string
    /** `unlisted`: it has no list of models, and the configuration names none to ask. Others are codes of the gateway. */
    outcome: string
    models: number | null
    /** More about a failure, without credentials. */
    detail?: string
  }>
}

/** The models that the caller may use. */
export interface ModelList {
  object: 'list'
  data: Model[]
}

export interface NextTurn {
  turnId: string
  message: string
  writtenBy: {
    id: string
    name: string
  }
  writtenAt: string
  /** Code of the refusal of the Turn: the message is given back. Null while it waits. */
  refused: string | null
}

export interface NextTurnEnvelope {
  nextTurn: null | NextTurn
}

export interface OpenTerminal {
  /** A terminal of the person in this workspace to return to. */
  terminalId?: string
  columns?: number
  rows?: number
  /** Makes it the workspace's preview: it runs the environment's `preview.command`, or else a shell, and the sandbox runs for so long, whether anybody looks or not. A workspace has one; asking again, without `terminalId`, extends it. */
  previewMinutes?: number
}

export interface OrganizationSettings {
  own: {
    /** US dollars that the organization may spend on models in a day of UTC. */
    dayUsd: number | null
    /** US dollars that it may spend in a month of UTC. */
    monthUsd: number | null
    /** US dollars that one Run may spend on models. */
    runCostUsd: number | null
    /** Calls of its model that a Run's agent may make. */
    runTurns: number | null
    /** Seconds that a Run may work, without waiting for people. */
    runSeconds: number | null
  }
  /** Every budget of the whole organization, and then those of its people and installations. A model answers only while none of them is spent. */
  budgets: SpendingBudget[]
  /** Bounds of one Run. */
  run: {
    /** Null: no bound. */
    operator: {
      costUsd: number | null
      turns: number | null
      seconds: number | null
    }
    /** The tighter of both. */
    effective: {
      costUsd: number | null
      turns: number | null
      seconds: number | null
    }
  }
  /** To whom the commits of Publications are attributed. */
  commits: {
    /** The person who asked for the Publication, or the app, with the person as a co-author. */
    author: 'person' | 'app'
    /** Whether the author signs off in the message, as the DCO asks for. */
    signOff: boolean
    /** Who signs. `deployment`: its key, if it has one. `host`: the Git host makes the commit, as the app, and signs it. The person is a co-author then, whatever `author` says, and a Publication to a host that signs no commits fails with `commit_not_signed`. */
    signer: 'deployment' | 'host'
    /** Whether a Git host of the deployment signs commits; GitHub does. */
    hostSigns: boolean
    /** The app. */
    committer: {
      name: string
      email: string
    }
    /** The key of SSH or OpenPGP that verifies their signatures, as hosts take it; null if they are not signed. */
    publicKey: string | null
  }
  /** What Publications add to the description of their pull requests. */
  pullRequests: {
    /** As the organization sets it; null: the usual one. */
    section: string | null
    /** The template that stands in for null. */
    usualSection: string
  }
  /** What environments may reach and use. */
  egress: {
    /** Hosts that no environment names. Sandboxes that are made from now on do not reach them. */
    neverHosts: string[]
    /** By the name of a secret, the ids of the environments that may use it. A secret that is not named is free for all. */
    secretEnvironments: Record<string, string[]>
  }
  /** How pull requests are followed until they are merged. */
  followUps: {
    /** The label whose removal from a pull request stops its follow-up; null: `berth`. */
    label: string | null
    /** The login whose removal from the assignees stops it; null: `berth`, and that of every app. */
    assignee: string | null
    /** By more commits the base may not be ahead of a pull request that is followed: they are brought into the work then. Null: only if the host asks for it. */
    baseCommits: number | null
  }
  /** Requests that each membership and installation may send. */
  rate: {
    burst: number
    perMinute: number
    /** Whether the operator gave the organization a rate of its own. */
    own: boolean
  }
  /** What is forgotten. The logs of Sessions are kept for ever. */
  retention: {
    /** Days that an entry of the audit log is kept. */
    auditDays: number
  }
}

/** Correlation metadata that links a Session to the caller's own records. */
export interface Origin {
  /** The caller's opaque id of its tenant. */
  tenantKey?: string
  /** The caller's name for the kind of record. */
  objectType?: string
  /** The caller's id of the record. */
  objectId?: string
  /** A one-way hash of the user's id; never personal data. */
  endUserId?: string
  label?: string
  /** HTTPS link to the record. */
  url?: string
}

/** An agent's answer is not the JSON value that its Turn asked for. */
export interface OutputRejectedData {
  /** Which answer of the attempt it is. */
  answer: number
  /** Places in the value that fail the schema; an empty path is the value itself. */
  issues: Array<{
    path: Array<string | number>
    message: string
  }>
  /** True if the agent was told, and answers once more. */
  retried: boolean
}

/** Asks for a JSON value that satisfies a schema. A Run that completes has it as `result.output`; one whose agent gives no such value, when asked a second time too, fails with `output_invalid`. */
export interface OutputRequest {
  /** A JSON Schema (2020-12) of at most 32768 bytes. `$ref` may name members of `$defs`, without cycles. */
  schema: Record<string, unknown>
}

export interface OwnHost {
  id: string
  name: string
  pool: string
  labels: string[]
  /** What makes its sandboxes; null until it has connected. */
  driver: string | null
  /** The most sandboxes that it holds; null: no bound. */
  capacity: number | null
  /** That it holds now. */
  sandboxes: number
  /** `waiting`: its token was never used. `resting`: it gets no further sandboxes for a while, after failures. `outdated`: it is of another release, and was refused. */
  state: string
  heardAt: string | null
  restsUntil: string | null
  /** `no_answer`: it took a call and did not answer in time. `line_cut`: its connection broke while it made a sandbox. */
  restsBecause: string | null
}

export interface OwnHostEnvelope {
  host: OwnHost
}

/** The agent's to-do list, whole, as it is now. Empty if there is none any more. */
export interface PlanUpdatedData {
  entries: Array<{
    content: string
    status: string
    priority?: string
  }>
  /** True if entries, or parts of them, were left out. */
  truncated?: boolean
}

export interface PortList {
  /** On which programs of the sandbox listen, in order. */
  ports: number[]
  /** Whether the sandbox stands still, as it does between Turns. */
  atRest: boolean
  /** What keeps the sandbox running between Turns, and the command that it runs. */
  preview?: {
    terminalId: string
    /** `exited`: the command has; the sandbox runs on. `failed`: the command could not be started. */
    state: 'starting' | 'running' | 'exited' | 'failed'
    /** When the sandbox comes to rest again. */
    endsAt: string
    /** Null while the command runs, and after a signal. */
    exitCode: number | null
    /** The last 8 KiB that the command wrote, as a terminal gets it. */
    output: string
  }
  /** The sandbox's environment's `preview`, if it has one. */
  previewCommand?: {
    command: string
    port?: number
  }
  /** Whether this deployment has a domain for previews. */
  canPreview: boolean
}

export interface PortPreview {
  /** Opens the preview once. */
  url: string
  expiresAt: string
}

export interface PricedModel {
  /** `<provider>/<model>`. */
  id: string
  provider: string
  aliases: string[]
  /** Whether Sessions without a model use it. */
  isDefault: boolean
  /** Whether the organization may use it. */
  allowed: boolean
  contextTokens: number | null
  outputTokens: number | null
  tools: boolean
  reasoning: boolean
  /** US dollars per million tokens; null if the cost of its answers is not known. */
  price: null | {
    input: number
    cachedInput: number
    cacheWrite: number
    output: number
  }
}

export interface PricedModelList {
  /** Models that the deployment describes, by id. */
  models: PricedModel[]
  /** Providers that tell their models only to the gateway. */
  openProviders: string[]
  /** Whether the operator lets the organization use some models alone. */
  restricted: boolean
}

/** A host that was allowed, and that the document does not name yet. */
export interface ProposedHost {
  host: string
  /** Where it was allowed. */
  sessionId: string
  decidedBy: {
    kind: string
    id: string
  }
  decidedAt: string
}

/** The delivery of one reviewed revision, as a pull request or directly to a branch. */
export interface Publication {
  id: string
  sessionId: string
  status: 'admitted' | 'prepared' | 'attempted' | 'succeeded' | 'failed'
  revision: string
  title: string
  delivery: 'pull_request' | 'direct_branch'
  result?: PublicationResult
  requestedBy?: Creator
  /** The passed verification that stood when it was asked for. */
  verificationId?: string
  /** The signed statement, which `getStatement` returns; only of a verified one that succeeded. */
  statement?: {
    artifactId: string
  }
  lastError?: {
    code: string
    /** With `branch_exists`: the branch that is in the way; it may lie above or below the wanted one. */
    branch?: string
    /** Another name for the wanted branch. */
    suggestedBranch?: string
  }
  createdAt: string
  updatedAt: string
  completedAt?: string
}

/** A Publication or a Merge has ended. */
export interface PublicationData {
  publicationId: string
  delivery: 'pull_request' | 'direct_branch'
  status: string
  result?: Record<string, unknown>
  errorCode?: string
  /** With `branch_exists`: the branch that is in the way, as in `lastError`. */
  branch?: string
  /** Another name for the wanted branch. */
  suggestedBranch?: string
  mergeId?: string
  mergedCommitSha?: string
}

export interface PublicationEnvelope {
  publication: Publication
}

/** A page of Publications, newest first. */
export interface PublicationPage {
  publications: Publication[]
  nextCursor: string | null
  hasMore: boolean
}

/** The result of a delivery. */
export interface PublicationResult {
  /** How it was delivered. The first commit of a repository is `direct_branch` even if a `pull_request` was asked for: there is no branch yet to open one against. */
  delivery: 'pull_request' | 'direct_branch'
  branch: string
  commitSha: string
  pullRequest?: {
    number: number
    url: string
    draft: boolean
    /** True if the pull request was already open. */
    reused: boolean
  }
}

export interface PullCheck {
  name: string
  /** `missing`: it is required, and nobody has reported it yet. */
  state: string
  /** Nothing is merged before it has succeeded. */
  required: boolean
  /** Where it tells more: http or https. */
  url?: string
}

export interface PullChecks {
  state: string
  headOid: string
  blockers: string[]
  /** False if the Git host does not let the service read checks. */
  known: boolean
  /** Checks of an open pull request. */
  checks: PullCheck[]
}

/** A pull request that a Session has published. */
export interface PullRequest {
  sessionId: string
  sessionTitle: string
  /** The newest Publication of the pull request. */
  publicationId: string
  /** `owner/name` of the repository; empty if the service no longer knows it. */
  repository: string
  number: number
  url: string
  title: string
  /** As the service last saw it. `unknown`: nothing follows it, so the service does not ask. */
  state: string
  /** Whose turn it is. `host`: checks or its queue are under way. `nobody`: it is merged or closed. */
  turn: string
  followUp: null | FollowUp
  /** Cost of the Session's Runs that have ended. */
  costUsd: number
  updatedAt: string
}

/** A page of pull requests, the last changed first. */
export interface PullRequestPage {
  pullRequests: PullRequest[]
  nextCursor: string | null
  hasMore: boolean
}

export interface PushSubscription {
  id: string
  /** `User-Agent` of the browser. */
  agent: string | null
  /** Whether a request of an agent is pushed. */
  needsYou: boolean
  /** Whether the end of a Run is pushed. */
  runEnded: boolean
  createdAt: string
  /** When the last push was accepted. */
  pushedAt: string | null
  /** Whether the last push was not accepted. */
  failing: boolean
}

export interface PushSubscriptionEnvelope {
  subscription: PushSubscription
}

export interface PushSubscriptionList {
  /** The service's public key (RFC 8292), which a browser subscribes with. */
  publicKey: string
  /** The membership's, the newest first. */
  subscriptions: PushSubscription[]
}

export interface PutNextTurn {
  /** Id of the Turn that the message becomes; the caller makes it. */
  turnId: string
  message: string
  /** `turnId` of the message that this one takes the place of, if any. */
  replaces?: string
}

export interface PutPushSubscription {
  /** As the browser gives it. */
  endpoint: string
  /** Public key of the browser. */
  p256dh: string
  /** Secret of the browser. */
  auth: string
  /** Whether a request of an agent is pushed. */
  needsYou: boolean
  /** Whether the end of a Run is pushed. */
  runEnded: boolean
}

export interface PutTrigger {
  name: string
  /** The message of each Turn. `{{path.to.field}}` stands for a field of the payload, `{{path.to.field?}}` for one that may be missing. */
  message: string
  session?: TriggerSession
  schedule?: TriggerSchedule
  /** Fields of the payload, of which the first that is there names the conversation. Deliveries of one conversation are Turns of one Session. */
  thread?: string[]
  hook?: TriggerHook
  deliver?: TriggerDeliver
  /** `true` if absent. */
  enabled?: boolean
  /** The installation whose Sessions it makes. A person names it for a new trigger; an installation's is its own. */
  installationId?: string
}

export interface PutTriggerDelivery {
  payload?: Record<string, unknown>
}

export interface QueuedRun {
  sessionId: string
  title: string
  queuedAt: string
}

export interface ReadInstallationIntent {
  /** A JWT that a registered Ed25519 key of the app signed: `iss` and `sub` are the app's slug, `aud` is the issuer, `exp - iat` is at most 600. */
  assertion: string
}

export interface RegisterAppKey {
  /** An Ed25519 public key as SPKI PEM: the output of `openssl pkey -pubout`. */
  publicKeyPem: string
}

export interface RegisterWebhook {
  /** An HTTPS URL of a public host, at most 2048 characters, without user information and fragment. Its port is 443 or one that the operator allows. */
  url: string
  /** One to five of `run`, `interaction`, `artifact`, `publication` and `revision`, each once. */
  families: string[]
}

export interface RegisteredAppKey {
  success: true
  kid: string
}

export interface RegisteredWebhook {
  success: true
  endpoint: WebhookEndpoint
  /** Signs the deliveries. Shown this once. */
  secret: string
}

export interface ReplaceTriggerSecret {
  /** A secret that the other system has chosen, as Slack and Linear do; absent: a new one is made. */
  secret?: string
  /** How long the secret before is good as well; a day if absent. */
  overlapSeconds?: number
}

export interface ReplayWebhook {
  sessionId: string
  /** Replays Events with a greater sequence; absent: from the first. */
  after?: number
}

export interface ReplayedWebhook {
  success: true
  queued: number
  /** Of the last Event that was queued. Pass it as `after` to go on. */
  lastSequence?: number
}

/** A repository that a Session can start from. */
export interface Repository {
  grantId: string
  /** The Git host's stable id, in decimal digits. */
  repositoryId: string
  provider: string
  /** The current `owner/name`. */
  fullName: string
  private: boolean
  /** In a repository without a commit: the branch that its first commit makes. */
  defaultBranch: string | null
  htmlUrl: string
}

export interface RepositoryEnvelope {
  repository: Repository
}

/** A grant, which lets an installation use a repository. */
export interface RepositoryGrant {
  id: string
  provider: string
  accountLogin: string
  /** The Git host's stable id, in decimal digits. */
  repositoryId: string
  /** The `owner/name` when the service last saw the repository. */
  fullName: string
  status: string
  createdAt: string
}

export interface RepositoryGrantEnvelope {
  grant: RepositoryGrant
}

/** A page of grants, newest first. */
export interface RepositoryGrantPage {
  grants: RepositoryGrant[]
  nextCursor: string | null
  hasMore: boolean
  /** Accounts of which this answer lacks repositories, since their host did not give them; absent if there is none. */
  missing?: MissingAccount[]
}

/** A page of repositories. */
export interface RepositoryPage {
  repositories: Repository[]
  nextCursor: string | null
  hasMore: boolean
  /** Accounts of which this answer lacks repositories, since their host did not give them; absent if there is none. */
  missing?: MissingAccount[]
}

/** Asks for a JSON value that satisfies a schema. A Run that completes has it as `result.output`; one whose agent gives no such value, when asked a second time too, fails with `output_invalid`. */
export interface RequestedOutput {
  /** A JSON Schema (2020-12) of at most 32768 bytes. `$ref` may name members of `$defs`, without cycles. */
  schema: Record<string, unknown>
}

export interface ResetMember {
  /** Whether to remove the second factor and its recovery codes at once, which ends every sign-in of the person. */
  secondFactor?: boolean
}

/** The changes of a Session, as an immutable revision. */
export interface Review {
  revision: string
  /** The commit that the work begins at. In a repository without a commit: `4b825dc642cb6eb9a060e54bf8d69288fbee4904`, git's id of the empty tree. */
  baseOid: string
  headTree: string
  /** The branch that the Session started from. */
  targetBranch: string
  files: ReviewFile[]
  additions: number
  deletions: number
  /** A unified diff, cut at 1 MiB. It is for reading: bytes that are not UTF-8 stand as U+FFFD. */
  patch: string
  /** True if `patch` was cut. */
  patchTruncated: boolean
  /** Sentences about the workspace: paths that are left out, files that are taken in a special way, and warnings of git, which begin with `git: `. The last one says how many had no room. */
  notes?: string[]
  /** Facts of the change that its readers must not miss, by kind. They are facts of the lines, no verdict. */
  signals: ReviewSignal[]
  createdAt: string
}

export interface ReviewEnvelope {
  review: Review
}

/** One changed path of a review. */
export interface ReviewFile {
  /** The path; if it is not valid UTF-8, in git's quoted form. */
  path: string
  /** The old path; with `renamed`. */
  previousPath?: string
  status: 'added' | 'modified' | 'deleted' | 'renamed'
  additions: number
  deletions: number
  binary: boolean
  /** Git's mode before the change, if the change is of the mode, such as `100644`. */
  previousMode?: string
  /** Git's mode, if it has changed or an added file is not a plain one: `100755` is executable, `120000` a symbolic link, `160000` a submodule. */
  mode?: string
  /** The path that an added or changed symbolic link names. */
  target?: string
}

export interface ReviewFileDiff {
  revision: string
  number: number
  file: ReviewFile
  /** The unified diff of the file, as in `patch` of the review; null if its lines go beyond what was stored. */
  patch: string | null
  /** True if `patch` was cut. */
  truncated: boolean
  /** Whether more unchanged lines than the three of a patch can be asked for. */
  expandable: boolean
}

/** A fact of a change that its readers must not miss; no verdict. */
export interface ReviewSignal {
  /** `outside`: no message of the Session names the file, though one names others. `unread`: the lines of `count` files, of which `path` is the first, go beyond the bounds within which lines are looked at. */
  kind: string
  path: string
  /** How many lines show it; 1 if it is the file as a whole. */
  count: number
  /** The first five of the lines, numbered before or after the change; none if it is the whole file. */
  lines: Array<{
    side: 'before' | 'after'
    number: number
  }>
  /** The modes, the target of a link, or the size. */
  detail?: string
  /** Tells what was found from another find of this kind in this file, wherever its lines stand. */
  digest: string
}

/** A Run has changed the tree. Its revision is stored for good, and can be reviewed without a sandbox. */
export interface RevisionCreatedData {
  revision: string
  /** The Run that ended with it. */
  runId?: string
  /** The commit that the work begins at. In a repository without a commit: `4b825dc642cb6eb9a060e54bf8d69288fbee4904`, git's id of the empty tree. */
  baseOid: string
  headTree: string
  targetBranch: string
  /** Changed files against the base; 0 if nothing is left to publish. */
  files: number
  additions: number
  deletions: number
}

/** The execution of a Turn. */
export interface Run {
  id: string
  sessionId: string
  turnId: string
  status: 'queued' | 'dispatching' | 'running' | 'awaiting' | 'completed' | 'failed' | 'cancelled' | 'crashed'
  /** True once a caller has asked the Run to stop. */
  cancellationRequested: boolean
  /** Attempts so far; 0 until a worker has claimed the Run. */
  attempts: number
  stopReason?: string
  errorCode?: string
  /** Cost of the models so far, in US dollars. */
  costUsd?: number
  /** False if `costUsd` is only the known part of the cost. */
  costComplete?: boolean
  turns?: number
  usage?: {
    inputTokens: number
    /** Part of `inputTokens`: read from a cache. */
    cachedInputTokens: number
    /** Part of `inputTokens`: written to a cache. */
    cacheWriteTokens: number
    outputTokens: number
    /** Part of `outputTokens`. */
    reasoningTokens: number
  }
  /** Input tokens read from a cache, of all; absent without input. */
  cacheHitRatio?: number
  /** Milliseconds from its admission to its end; absent before the end. */
  time?: {
    /** A model was asked. */
    modelMs: number
    /** People were asked, and no model. */
    peopleMs: number
    /** A tool worked, and nobody was asked. */
    toolsMs: number
    /** The rest: the next three, and what the agent and the service do in between. */
    platformMs: number
    /** Part of `platformMs`: no worker had it. */
    queueMs: number
    /** Part of `platformMs`: its sandbox was made, restored and set up. */
    sandboxMs: number
    /** Part of `platformMs`: the rest until its agent had the prompt. */
    agentStartMs: number
    /** In none of these, since it follows the end: its work was sealed. Absent before that is over. */
    sealMs?: number
  }
  result?: {
    summary?: string
    artifactIds: string[]
    /** The JSON value that the Turn asked for with `output`; present on every such Run that completed. */
    output?: unknown
  }
  queuedAt: string
  startedAt?: string
  endedAt?: string
}

/** How a Run ended and its cost. */
export interface RunEndedData {
  status: 'completed' | 'failed' | 'cancelled' | 'crashed'
  stopReason?: string
  errorCode?: string
  /** Cost of the models so far, in US dollars. */
  costUsd?: number
  /** False if `costUsd` is only the known part of the cost. */
  costComplete?: boolean
  turns?: number
  result?: {
    /** The JSON value that the Turn asked for with `output`; present on every such Run that completed. */
    output?: unknown
  }
}

export interface RunEnvelope {
  run: Run
}

/** The start or the end of a tool call, without its content. */
export interface RunProgressData {
  activityId: string
  category: 'tool'
  name: string
  status: 'started' | 'succeeded' | 'failed'
  delegationId?: string
  occurredAt: string
}

/** An attempt of a Run has started. */
export interface RunStartedData {
  status: 'running'
  attempt: number
  /** The release whose engine the sandbox runs; absent for the built-in one. */
  releaseSha?: string
  /** The repository's files are a checkout that the host keeps, below the sandbox's own. Absent without. */
  keptCheckout?: true
}

/** An agent runtime of the catalog. */
export interface Runtime {
  id: string
  name: string
  /** Null if the runtime does not report its version. */
  version: string | null
  /** True if Sessions can use the runtime now. */
  available: boolean
  /** Why the runtime is not available, in prose. */
  reason?: string
  /** The one of them that a Session without `model` uses; absent if the agent chooses. */
  defaultModel?: string
  /** Ids and aliases that a Session with this runtime can name as `model`, as far as they are known. */
  models?: string[]
}

/** The catalog of agent runtimes. */
export interface RuntimeList {
  runtimes: Runtime[]
}

export interface RuntimeReleaseProbeEnvelope {
  probe: {
    releaseSha: string
    engine: {
      sha256: string
    }
    activatedAt: string
    expiresAt: string
  }
}

/** A conversation with an agent, which outlives its sandboxes. */
export interface Session {
  id: string
  /** URL of the Session's page, for people. */
  sessionUrl: string
  organizationId: string
  /** If the caller gave none, the first sentence of the first message, and a better one by the agent if it has one. */
  title: string
  origin?: Origin
  source?: Source
  /** Model of the next Turn. */
  model?: string
  /** How hard the model of the next Turn may think; null for the model's default. */
  effort: string | null
  /** The runtime that the Session has settled on; absent for the native one. */
  runtime?: string
  workspace: {
    state: 'unavailable' | 'attached' | 'expired'
    expiresAt: string | null
  }
  continuation: Continuation
  /** For display only, because it may lag behind. Base decisions on the Run and on Events. */
  phase: 'idle' | 'queued' | 'provisioning' | 'running' | 'awaiting' | 'finalizing'
  /** For people, and for lists: the one word that says whether somebody has to do something. New ones may be added. */
  status: string
  /** The newest Run since the Session was made or reset; null if there is none. */
  lastRun: {
    id: string
    /** Sequence of the Turn that began it. */
    turnSequence: number
    status: 'queued' | 'dispatching' | 'running' | 'awaiting' | 'completed' | 'failed' | 'cancelled' | 'crashed'
    stopReason?: string
    errorCode?: string
    /** Calls of the model. */
    turns?: number
  } | null
  /** The newest revision: of the end of a Run, or of a review since. It can be read without a sandbox. Null before the first change. */
  changes: {
    revision: string
    files: number
    additions: number
    deletions: number
  } | null
  /** The agent's to-do list, in its order, as it was last told. Null if there is none, and absent in lists. */
  plan?: {
    entries: Array<{
      content: string
      status: string
      priority?: string
    }>
    /** True if entries, or parts of them, were left out. */
    truncated?: boolean
  } | null
  /** Commands that the agent has in the background of its sandbox, and the last that have ended. Empty without a sandbox, and absent in lists. */
  background?: Array<{
    /** The agent's own. */
    id: string
    /** Its beginning. */
    command: string
    /** Set if the rest of `command` was cut. */
    truncated?: boolean
    status: string
    startedAt: string
    exitCode?: number
  }>
  /** Set if commands were left out of `background`; those that run come first. */
  backgroundTruncated?: boolean
  createdBy: Creator
  initiatedBy?: Creator
  /** The Run that has not ended; absent if there is none. */
  activeRunId?: string
  createdAt: string
  updatedAt: string
  lastEventSequence: number
  archivedAt?: string
  environment: {
    id: string
    name: string
    /** The revision applied last; null before the first. */
    revision: number | null
  } | null
  /** Null: none. */
  budget: {
    /** US dollars for models, over all Runs. A Run that reaches it waits for people. */
    costUsd: number
    /** What counts against it. A request whose cost was lost counts as the most that it may have cost. */
    spentUsd: number
  } | null
  /** The Session that this one was forked from, and the Run at whose end; null for others. */
  parent: {
    sessionId: string
    runId: string
  } | null
}

export interface SessionCost {
  /** Cost of all its Runs so far, as far as it is known. */
  costUsd: number
  /** False if `costUsd` is only the known part of the cost. */
  costComplete: boolean
  usage?: {
    inputTokens: number
    /** Part of `inputTokens`: read from a cache. */
    cachedInputTokens: number
    /** Part of `inputTokens`: written to a cache. */
    cacheWriteTokens: number
    outputTokens: number
    /** Part of `outputTokens`. */
    reasoningTokens: number
  }
  /** Input tokens read from a cache, of all; absent without input. */
  cacheHitRatio?: number
  /** Milliseconds from its admission to its end; absent before the end. */
  time?: {
    /** A model was asked. */
    modelMs: number
    /** People were asked, and no model. */
    peopleMs: number
    /** A tool worked, and nobody was asked. */
    toolsMs: number
    /** The rest: the next three, and what the agent and the service do in between. */
    platformMs: number
    /** Part of `platformMs`: no worker had it. */
    queueMs: number
    /** Part of `platformMs`: its sandbox was made, restored and set up. */
    sandboxMs: number
    /** Part of `platformMs`: the rest until its agent had the prompt. */
    agentStartMs: number
    /** In none of these, since it follows the end: its work was sealed. Absent before that is over. */
    sealMs?: number
  }
  /** The active Run. */
  run: null | {
    /** Cost of the active Run so far. */
    costUsd: number
    /** What a Run of the organization may spend; null if nothing bounds it. */
    limitUsd: null | number
  }
  /** Budgets beside its own that hold it and of which at least 80 percent are spent. The amounts of a person's are for that person and administrators. */
  near: Array<{
    /** Whose budget it is. */
    scope: string
    spentUsd?: number
    limitUsd?: number
  }>
}

/** The hosts that the sandboxes of a Session have reached, or were refused. */
export interface SessionEgress {
  /** At most 500, and 500 more that got a secret; the last one first. */
  hosts: EgressHost[]
  /** Of all further hosts, together; absent if there are none. */
  others?: {
    reached: number
    refused: number
    sentBytes: number
    receivedBytes: number
  }
}

export interface SessionEnvelope {
  session: Session
}

/** The Session begins where a Run of another one ended, with its workspace and conversation. */
export interface SessionForkedData {
  sourceSessionId: string
  sourceRunId: string
  /** Sequence of that Run's end in the log of the other Session. */
  sourceSequence?: number
  createdBy: Creator
}

export interface SessionMatch {
  sequence: number
  type: string
  createdAt: string
  excerpt: {
    before: string
    match: string
    after: string
  }
}

export interface SessionMatchPage {
  /** The newest first, at most 50. */
  matches: SessionMatch[]
  /** Where to go on; null if the whole log was searched. */
  before: number | null
}

export interface SessionOfTrigger {
  title?: string
  model?: string | null
  /** How hard the model may think; null for the model's default. */
  effort?: 'minimal' | 'low' | 'medium' | 'high' | 'max' | null
  runtime?: string | null
  source?: {
    grantId: string
    repositoryId: string
    /** By default the host's default branch. In a repository without a commit it may be any name: the first commit makes the branch. */
    baseBranch?: string
    label?: string
    kind?: string
  }
  environment?: {
    id: string
  } | null
  budget?: {
    /** US dollars for models, over all Runs. A Run that reaches it waits for people. */
    costUsd: number
  } | null
}

export interface SessionOverview {
  session: Session
  state: SessionState
  /** The active Run. */
  run: null | Run
  /** Open ones, with their whole input. */
  interactions: Interaction[]
  /** The newest, at most 20, newest first. */
  publications: Publication[]
  /** Of these Publications, newest first for each. */
  merges: Merge[]
  /** The message that waits until the Run ends. */
  nextTurn: null | NextTurn
  /** The last 100 of the log. */
  events: Event[]
  lastSequence: number
}

/** A page of Sessions, most recently changed first. */
export interface SessionPage {
  sessions: Session[]
  nextCursor: string | null
  hasMore: boolean
}

export interface SessionState {
  id: string
  title: string
  lastEventSequence: number
  updatedAt: string
  phase: 'idle' | 'queued' | 'provisioning' | 'running' | 'awaiting' | 'finalizing'
  /** As in the Session. */
  status: 'needs_you' | 'working' | 'failed' | 'ready_to_review' | 'pull_request_open' | 'merged' | 'stopped' | 'done'
  /** The newest Run since the Session was made or reset; null if there is none. */
  lastRun: {
    id: string
    /** Sequence of the Turn that began it. */
    turnSequence: number
    status: 'queued' | 'dispatching' | 'running' | 'awaiting' | 'completed' | 'failed' | 'cancelled' | 'crashed'
    stopReason?: string
    errorCode?: string
    /** Calls of the model. */
    turns?: number
  } | null
  archived: boolean
  attention: null | {
    openInteractions: number
    /** Kind of the one that is due first. */
    kind: 'ask_user' | 'exit_plan_mode' | 'approval'
    deadline?: string
  }
  /** Whether nothing of the last Run was kept, within the last thirty days: a person has to reset or archive it. */
  workLost: boolean
  /** Whether there are Events since the person last looked. Always false if they neither started nor opened it. */
  unread: boolean
  pinned: boolean
  /** The person wants to see it later: at a time, or as soon as an Interaction opens or a Run ends. Null: now. */
  snoozed: {
    until?: string
  } | null
  /** Grows with each change of the person's marks of viewed files. */
  viewedMarks: number
  /** Cost of the Runs that have ended, as far as it is known. */
  costUsd: number
  /** The pull request that was delivered last. */
  pull: null | {
    number: number
    url: string
    draft: boolean
    /** Where its newest Merge stands. */
    merge: null | 'admitted' | 'attempted' | 'waiting' | 'succeeded' | 'failed'
  }
  /** The person who started the Session; null if no person did. */
  startedBy: null | {
    id: string
    name: string
  }
  /** What started the Session if no person did. */
  startedThrough: null | {
    /** New ones may be added. */
    kind: string
    name: string
  }
}

export interface SessionStateEnvelope {
  state: SessionState
}

export interface SessionStatePage {
  sessions: Array<{
    session: Session
    state: SessionState
  }>
  nextCursor: string | null
  hasMore: boolean
  /** How many follow the page; 10,000 may be more. */
  remaining?: number
}

export interface SetDefaultEnvironment {
  id: string | null
}

export interface SignIn {
  id: string
  organizationId: string
  /** The client that the person signed in with, such as `svc-cloud`. */
  clientId: string
  address: string | null
  userAgent: string | null
  createdAt: string
  lastUsedAt: string
  /** Whether it is the sign-in of this request's token. */
  current: boolean
}

export interface SignInList {
  success: true
  signIns: SignIn[]
}

/** A DSSE envelope with one Ed25519 signature; `keyid` names a key of `getStatementKeys`. */
export interface SignedStatement {
  /** A `Statement` as JSON, in base64. */
  payload: string
  payloadType: 'application/vnd.in-toto+json'
  signatures: Array<{
    keyid: string
    sig: string
  }>
}

/** The envelope as a Sigstore bundle v0.3 with a public-key hint. */
export interface SigstoreBundle {
  mediaType: 'application/vnd.dev.sigstore.bundle.v0.3+json'
  verificationMaterial: {
    publicKey: {
      hint: string
    }
  }
  dsseEnvelope: {
    /** A `Statement` as JSON, in base64. */
    payload: string
    payloadType: 'application/vnd.in-toto+json'
    signatures: Array<{
      keyid: string
      sig: string
    }>
  }
}

/** The repository that a Session's workspace starts from, pinned to a commit. */
export interface Source {
  kind: string
  grantId: string
  repositoryId: string
  label: string
  private: boolean
  /** In a repository without a commit: the branch that its first commit makes. */
  baseBranch: string
  /** The commit that the work begins at. In a repository without a commit: `4b825dc642cb6eb9a060e54bf8d69288fbee4904`, git's id of the empty tree. */
  baseOid: string
}

export interface SpendingBudget {
  /** Whose spending it bounds. */
  scope: string
  /** Id of the person or installation; null for the organization. */
  id: string | null
  /** How people call it; null for the organization. */
  name: string | null
  period: string
  setBy: string
  /** Whether Runs that reach it wait for people, or are refused. */
  onReached: string
  limitUsd: number
  /** In the current period. */
  spentUsd: number
  resetsAt: string | null
}

export interface StandingRuntimeReleaseProbe {
  probe: {
    releaseSha: string
    engine: {
      sha256: string
    }
    activatedAt: string
    expiresAt: string
  } | null
}

/** An empty object tries the environment in a sandbox of the `shell` runtime. */
export interface StartTrial {
  runtime?: string | null
  source?: {
    grantId: string
    repositoryId: string
    /** By default the host's default branch. In a repository without a commit it may be any name: the first commit makes the branch. */
    baseBranch?: string
    label?: string
    kind?: string
  }
}

/** An in-toto Statement v1 on a commit and its tree. */
export interface Statement {
  _type: 'https://in-toto.io/Statement/v1'
  subject: Array<{
    name: string
    digest: {
      gitCommit?: string
      gitTree?: string
    }
  }>
  predicateType: 'https://berth.dev/attestations/agent-change/v1'
  predicate: AgentChange
}

/** A public key that verifies statements, as a JSON Web Key. */
export interface StatementKey {
  kty: 'OKP'
  crv: 'Ed25519'
  x: string
  /** The RFC 7638 thumbprint of the key. */
  kid: string
  alg: 'EdDSA'
  use: 'sig'
  /** It signs from then on, in seconds since 1970. */
  nbf: number
  /** It signs until then; what it has signed stays valid. */
  exp: number
  revoked?: {
    /** Since then nothing that it has signed counts, whatever its date. */
    revoked_at: number
  }
}

/** Every key that has ever signed statements here, and the next one. */
export interface StatementKeySet {
  keys: StatementKey[]
}

/** The newest statements on a commit, at most ten. */
export interface StatementList {
  statements: StatementReference[]
}

export interface StatementReference {
  sessionId: string
  publicationId: string
  artifactId: string
  commitSha: string
  signedAt: string
}

export interface StoredReviewList {
  /** At most 20, the newest first. */
  reviews: Array<{
    revision: string
    createdAt: string
  }>
}

/** Submits a Turn. */
export interface SubmitTurn {
  message: string
  replyTo?: {
    interactionId: string
  }
  files?: TurnFile[]
  output?: OutputRequest
  /** `start` begins a Run, and is refused while one is active. `steer` gives the message to the agent at work, at its next step; without an active Run it begins one. */
  mode?: 'start' | 'steer'
  /** Merge the newest commits of the branch that the work goes to into the workspace before the agent begins; for a Turn that begins a Run in a Session with a repository. What conflicts is left in the files, and the agent is told. */
  updateFromBase?: boolean
}

export interface TerminalTicket {
  terminalId: string
  /** Of the WebSocket. */
  url: string
  /** For `Sec-WebSocket-Protocol: berth.terminal.v1, ticket.<ticket>`, with the console's `Origin`. */
  ticket: string
  expiresAt: string
}

/** The log omits Events, because the Run exceeded its budget or its conversation was damaged. */
export interface TimelineTruncatedData {
  droppedEvents: number
  reason: string
}

/** The transcript of a recording. */
export interface Transcription {
  text: string
  /** Length of the decoded recording, in milliseconds. */
  durationMs: number
  /** The language, if the engine reports it. */
  language?: string
}

export interface Trigger {
  id: string
  /** The installation that it belongs to. */
  installationId: string
  name: string
  message: string
  session: SessionOfTrigger
  schedule?: {
    cron: string
    timeZone: string
  }
  thread?: string[]
  hook?: {
    /** Where other systems post. */
    url: string
    scheme: string
    key: {
      header?: string
      field?: string
    }
    where?: Record<string, unknown>
    github?: Record<string, unknown>
    /** Without one, everything is refused. */
    hasSecret: boolean
    /** The secret before is good until then. */
    previousSecretUntil?: string
  }
  deliver?: DeliverOfTrigger
  enabled: boolean
  /** When the schedule fires next. */
  nextAt?: string
  createdAt: string
  updatedAt: string
}

/** Publish the changes of each Run that completes; if absent, somebody has to. */
export interface TriggerDeliver {
  /** A pull request, or a commit on the branch itself. */
  kind: 'pull_request' | 'direct_branch'
  /** Open the pull request as a draft; `false` if absent. */
  draft?: boolean
  /** The title, with placeholders as in `message`; by default it is made of what `text` says. */
  title?: string
  /** `summary` if absent: title and text are the agent's last message. `output` asks the agent for both as JSON. */
  text?: 'summary' | 'output'
  /** Verify the revision first, and publish it only if that has passed. */
  verified?: boolean
  followUp?: FollowUpRequest
}

export interface TriggerDelivery {
  key: string
  status: string
  /** The Session of its Turn; it exists once the delivery is admitted. */
  sessionId: string
  turnId: string
  /** The conversation that it belongs to. */
  thread?: string
  /** Why it was refused, or why it still waits. */
  errorCode?: string | null
  /** How its changes are published, if the trigger delivers them. */
  publication?: {
    /** `waiting` until the Run has ended and its changes are stored; `unchanged`: there was nothing to publish. */
    state: string
    /** The Publication of its Session. */
    id?: string
    verificationId?: string
    /** Why nothing was published, or why it still waits. */
    errorCode?: string
    branch?: string
    pullRequest?: {
      number: number
      url: string
    }
  }
  /** What GitHub has been told of the Turn: nothing yet, that it has begun, how it ended, or what became of its changes. */
  report?: {
    told: string
    /** The comment with the result. */
    commentUrl?: string
    /** Why there will be no comment. */
    commentErrorCode?: string
    /** Why there will be no check run. */
    checkErrorCode?: string
  }
  createdAt: string
}

export interface TriggerHook {
  /** Who signs, and how. */
  scheme: 'svc' | 'github' | 'slack' | 'linear'
  key?: {
    /** Name of a header. */
    header?: string
    /** Path of a field of the body, such as `event_id`. */
    field?: string
  }
  github?: {
    /** A new comment with the mention, the label added, an issue assigned, a check or a suite of checks failed, or a review of a pull request that requests changes or comments. */
    on: Array<'comment' | 'label' | 'issue_assigned' | 'check_failed' | 'review'>
    /** A word that a comment must hold; `@berth` if absent. */
    mention?: string
    /** Name of the label; `berth` if absent. */
    label?: string
    /** Login that an issue is assigned to, a user's or an App's without `[bot]`; `berth` if absent. */
    assignee?: string
    /** As `owner/name`; all that are granted to the installation if absent. */
    repositories?: string[]
    /** What becomes of events of pull requests from forks: `refuse` if absent; `base` begins on the base branch, without the code of the fork. */
    forks?: 'refuse' | 'base'
  }
  /** Values that fields of the body must have, by their paths; null: the field must not be there. Others are ignored. */
  where?: Record<string, string | number | boolean | null>
}

export interface TriggerSchedule {
  /** Minute, hour, day of the month, month and day of the week, such as `0 7 * * 1-5`. */
  cron: string
  /** Name of a time zone, such as `Europe/Berlin`; `UTC` if absent. */
  timeZone?: string
}

export interface TriggerSecret {
  secret: string
  /** Where other systems post. */
  url: string
  previousSecretUntil?: string
}

export interface TriggerSession {
  title?: string
  model?: string | null
  /** How hard the model may think; null for the model's default. */
  effort?: 'minimal' | 'low' | 'medium' | 'high' | 'max' | null
  runtime?: string | null
  source?: {
    grantId: string
    repositoryId: string
    /** By default the host's default branch. In a repository without a commit it may be any name: the first commit makes the branch. */
    baseBranch?: string
    label?: string
    kind?: string
  }
  environment?: {
    id: string
  } | null
  budget?: {
    /** US dollars for models, over all Runs. A Run that reaches it waits for people. */
    costUsd: number
  } | null
}

/** One input message of a Session. It starts a Run, with `replyTo` resumes the Run that asked, or with `mode` `steer` joins the active Run. */
export interface Turn {
  id: string
  sessionId: string
  runId: string
  /** Position among the Session's Turns, from 0; use it as the `after` cursor. */
  sequence: number
  message: string
  replyTo?: {
    interactionId: string
  }
  files: Array<{
    name: string
    mediaType: string
    sizeBytes: number
    sha256: string
  }>
  output?: RequestedOutput
  /** Present if the Turn joined a Run: the agent has yet to reach its next step, its conversation has the message, or the Run ended before. A missed message begins a Run of its own if the other completed or failed; `runId` then names that Run. */
  steering?: string
  model?: string
  /** How hard its model may think; absent for the model's default. */
  effort?: string
  runtime?: string
  createdBy: Creator
  createdAt: string
}

/** An admitted Turn and its Run. */
export interface TurnAdmission {
  /** False if an earlier request admitted the Turn. */
  created: boolean
  turn: Turn
  run: Run
}

/** A file for the agent, sent with a Turn. */
export interface TurnFile {
  /** File name: one path segment. */
  name: string
  mediaType?: string
  content?: string
  /** In place of `content`: the file of an earlier Turn of the Session that has this hash. */
  sha256?: string
}

/** A page of Turns, in order. */
export interface TurnPage {
  turns: Turn[]
  nextAfter: number
  hasMore: boolean
}

/** The agent has a message that was sent while it worked, or missed it. */
export interface TurnSteeredData {
  turnId: string
  /** The agent has the message from here on, or the Run ended before. */
  status: string
  /** If it was missed: the Run that works on it now; absent if none does. */
  nextRunId?: string
}

/** Changes the given fields of an app. */
export interface UpdateApp {
  name?: string
  /** Where a consent page may send people back to: `https`, or in development `http` on a loopback address. */
  redirectUrls?: string[]
}

export interface UpdateCompute {
  /** `own_hosts`: Sessions get sandboxes on hosts of the organization alone. */
  runsOn: 'any_host' | 'own_hosts'
}

export interface UpdateConnection {
  /** Only at a host where people can connect accounts of their own. */
  personalAccess: boolean
}

export interface UpdateInstallation {
  capabilities: Array<'svc.cloud.access' | 'svc.cloud.sessions:create' | 'svc.cloud.sessions:read' | 'svc.cloud.turns:submit' | 'svc.cloud.approvals:respond' | 'svc.cloud.repositories:read' | 'svc.cloud.publications:create' | 'svc.cloud.merges:create' | 'svc.cloud.transcriptions:create' | 'svc.cloud.runtime-releases:probe' | 'environments:manage' | 'environments:use' | 'svc.ai.invoke'>
}

export interface UpdateMember {
  role?: 'member' | 'admin'
  /** What the member may administer beside the role. An administrator holds every permission. */
  permissions?: Array<'organization.integrations.manage' | 'organization.applications.manage'>
}

/** What is absent stays as it is. */
export interface UpdateOrganizationSettings {
  /** US dollars that the organization may spend on models in a day of UTC. */
  dayUsd?: number | null
  /** US dollars that it may spend in a month of UTC. */
  monthUsd?: number | null
  /** US dollars that one Run may spend on models. */
  runCostUsd?: number | null
  /** Calls of its model that a Run's agent may make. */
  runTurns?: number | null
  /** Seconds that a Run may work, without waiting for people. */
  runSeconds?: number | null
  /** Sets one budget; without `personId` and `installationId` one of the whole organization. */
  budget?: {
    /** A member, whose spending alone it bounds. */
    personId?: string
    /** An installation, whose spending alone it bounds. */
    installationId?: string
    /** Of UTC. */
    period: 'day' | 'month'
    /** Null removes it; absent: as it is. */
    limitUsd?: number | null
    /** Whether Runs that reach it wait for people, or are refused; absent: as it is, and refused at first. Everybody else is refused. */
    onReached?: 'pause' | 'refuse'
  }
  /** Absent: as it is. So is a `signer` that is absent. */
  commits?: {
    /** The person who asked for the Publication, or the app, with the person as a co-author. */
    author: 'person' | 'app'
    /** Whether the author signs off in the message, as the DCO asks for. */
    signOff: boolean
    /** Who signs. `deployment`: its key, if it has one. `host`: the Git host makes the commit, as the app, and signs it. The person is a co-author then, whatever `author` says, and a Publication to a host that signs no commits fails with `commit_not_signed`. */
    signer?: 'deployment' | 'host'
  }
  /** What environments may reach and use. A member replaces what was; absent: as it is. */
  egress?: {
    /** Hosts that no environment names. Sandboxes that are made from now on do not reach them. */
    neverHosts?: string[]
    /** By the name of a secret, the ids of the environments that may use it. A secret that is not named is free for all. */
    secretEnvironments?: Record<string, string[]>
  }
  /** Template, in Markdown, of the section at the end of each pull request, of which 16 lines are kept: `{verification}`, `{checks}`, `{signals}`, `{people}`, `{models}` and `{links}` stand for facts. Null: the usual one. Empty: no section. */
  pullRequestSection?: string | null
  /** How pull requests are followed. A member that is absent stays as it is. */
  followUps?: {
    /** The label whose removal from a pull request stops its follow-up; null: `berth`. */
    label?: string | null
    /** The login whose removal from the assignees stops it; null: `berth`, and that of every app. */
    assignee?: string | null
    /** By more commits the base may not be ahead of a pull request that is followed: they are brought into the work then. Null: only if the host asks for it. */
    baseCommits?: number | null
  }
}

/** Changes the given fields of a Session. */
export interface UpdateSession {
  title?: string
  environment?: {
    id: string
  } | null
  budget?: {
    /** US dollars for models, over all Runs. A Run that reaches it waits for people. */
    costUsd: number
  } | null
  model?: string | null
  /** How hard the model may think; null for the model's default. */
  effort?: 'minimal' | 'low' | 'medium' | 'high' | 'max' | null
  runtime?: string | null
}

export interface UploadedEngine {
  engine: {
    sha256: string
    sizeBytes: number
  }
}

export interface UsageForecast {
  /** Cost of the current month of UTC so far. */
  spentUsd: number
  /** Mean cost of a day, of the last seven times 24 hours. */
  dayUsd: number
  /** A forecast: what the month will have cost at its end if each of its days left costs `dayUsd`. */
  monthUsd: number
}

export interface UsageGroup {
  /** What the group is. */
  kind: string
  /** Id of the day, model, person or so on; null if there is none. */
  id: string | null
  /** How people call it; null if nothing has its name any more. */
  name: string | null
  requests: number
  /** Requests that the provider did not complete. */
  failed: number
  inputTokens: number
  /** Part of `inputTokens`: read from a cache. */
  cachedInputTokens: number
  /** Part of `inputTokens`: written to a cache. */
  cacheWriteTokens: number
  outputTokens: number
  /** Part of `outputTokens`. */
  reasoningTokens: number
  /** As far as it is known. */
  costUsd: number
  /** Requests whose cost is not known and not in `costUsd`. */
  unknownCost: number
}

export interface UsageReport {
  /** A day of UTC. */
  from: string
  /** A day of UTC. */
  to: string
  by: 'day' | 'model' | 'person' | 'repository' | 'trigger' | 'session'
  whose: 'me' | 'organization'
  total: UsageSums
  /** Pull requests of Sessions that Berth merged in the time. */
  mergedPullRequests: number
  forecast: UsageForecast
  /** Highest cost first, at most 100; days in their order. */
  groups: UsageGroup[]
  /** Number of groups that are not listed. */
  left: number
  /** Every day of the time, in order. */
  days: Array<{
    /** A day of UTC. */
    day: string
    requests: number
    /** Requests that the provider did not complete. */
    failed: number
    inputTokens: number
    /** Part of `inputTokens`: read from a cache. */
    cachedInputTokens: number
    /** Part of `inputTokens`: written to a cache. */
    cacheWriteTokens: number
    outputTokens: number
    /** Part of `outputTokens`. */
    reasoningTokens: number
    /** As far as it is known. */
    costUsd: number
    /** Requests whose cost is not known and not in `costUsd`. */
    unknownCost: number
  }>
  /** The days of the first 6 groups, in the order of `groups`; none for days. */
  series: Array<{
    /** One value a day. */
    costUsd: number[]
    /** One value a day. */
    requests: number[]
    /** One value a day: input and output. */
    tokens: number[]
  }>
}

export interface UsageSums {
  requests: number
  /** Requests that the provider did not complete. */
  failed: number
  inputTokens: number
  /** Part of `inputTokens`: read from a cache. */
  cachedInputTokens: number
  /** Part of `inputTokens`: written to a cache. */
  cacheWriteTokens: number
  outputTokens: number
  /** Part of `outputTokens`. */
  reasoningTokens: number
  /** As far as it is known. */
  costUsd: number
  /** Requests whose cost is not known and not in `costUsd`. */
  unknownCost: number
}

/** The checks of an environment, run on one revision in a sandbox that no agent has touched. */
export interface Verification {
  id: string
  sessionId: string
  revision: string
  /** Git's name of the tree that is checked. */
  tree: string
  /** `failed`: a required check has failed. `errored`: the checks could not be run, as `error` says, which says nothing of the change. */
  state: 'queued' | 'running' | 'passed' | 'failed' | 'errored' | 'cancelled'
  environment: {
    id: string
    revision: number
  }
  /** In their order; empty until it runs. */
  checks: CheckResult[]
  counts: {
    passed: number
    failed: number
    skipped: number
  }
  /** Why the checks could not be run; only in the state `errored`. */
  error?: {
    /** As `errorCode` of `svc.environment.apply`, `sandbox_unavailable`, or `worker_unavailable` if no worker had made its sandbox in 30 minutes. */
    code: string
    /** The last 8 KiB of what setup wrote. */
    outputTail?: string
  }
  /** The verification that ran the same checks on the same tree, whose results these are. */
  reusedFrom?: string
  requestedBy: Creator
  createdAt: string
  startedAt?: string
  completedAt?: string
}

/** The checks of a revision have begun or ended. */
export interface VerificationData {
  verificationId: string
  revision: string
  /** As `state` of the verification. */
  state: string
  environmentId: string
  environmentRevision: number
  counts?: {
    passed: number
    failed: number
    skipped: number
  }
  reusedFrom?: string
  errorCode?: string
}

export interface VerificationEnvelope {
  verification: Verification
}

/** A page of verifications, newest first. */
export interface VerificationPage {
  verifications: Verification[]
  nextCursor: string | null
  hasMore: boolean
}

export interface ViewedFiles {
  /** `viewedMarks` of the state that has these marks. */
  marks: number
  /** The newest marks, at most 2000. */
  files: Array<{
    /** Path of the file, as the review has it; of a signal, `/signals/{kind}/{path}`. */
    path: string
    /** Tells one change of the file from the next; the client chooses it. */
    digest: string
  }>
}

export interface ViewedMarks {
  marks: number
}

export interface WebhookDelivery {
  id: string
  eventId: string
  /** Type of the Event. */
  type: string
  sessionId?: string
  sequence?: number
  status: string
  /** The latest attempts, the oldest first. */
  attempts: Array<{
    at: string
    durationMs: number
    /** Status of the receiver's response. Absent without a response. */
    status?: number
    /** Why there was no response. Absent with one. */
    error?: string
  }>
  nextAttemptAt?: string
}

export interface WebhookDeliveryEnvelope {
  success: true
  delivery: WebhookDelivery
}

export interface WebhookDeliveryPage {
  success: true
  deliveries: WebhookDelivery[]
  nextCursor: string | null
  hasMore: boolean
}

export interface WebhookEndpoint {
  id: string
  url: string
  families: string[]
  createdAt: string
  lastSuccessAt?: string
  lastFailure?: {
    at: string
    /** Status of the receiver's response. Absent without a response. */
    status?: number
    /** Why there was no response. Absent with one. */
    error?: string
  }
}

export interface WebhookEndpointList {
  success: true
  endpoints: WebhookEndpoint[]
}

export interface WorkspaceEntry {
  /** A name that is not UTF-8 is quoted as git quotes it, and cannot be asked for. */
  name: string
  kind: string
  sizeBytes?: number
  /** Of a link, as it is written. */
  target?: string
  /** Whether `path` can name it. */
  readable: boolean
}

/** The lease of a sandbox has ended. */
export interface WorkspaceExpiredData {
  leaseId: string
  expiredAt: string
}

export interface WorkspaceNode {
  /** Below the workspace, without `.` and `..`; empty for the workspace itself. */
  path: string
  kind: string
  view: {
    /** `workspace`: the sandbox as it is now; `sealed`: the last checkpoint; `base`: the commit at which the Session began. */
    at: 'workspace' | 'sealed' | 'base'
    /** When the checkpoint was made; only for `sealed`. */
    sealedAt?: string
    runId?: string
    /** Only for `base`. */
    commit?: string
  }
  /** Of a directory, directories first. */
  entries?: WorkspaceEntry[]
  /** Whether the directory has more entries than these. */
  more?: boolean
  sizeBytes?: number
}

export interface WorkspaceNodeEnvelope {
  node: WorkspaceNode
}

/** A step that brings a workspace or its agent up has taken a second, or has ended after that. A quick step has no Event; previews show the progress of a long one. */
export interface WorkspaceProgressData {
  /** The same at the start and at the end of a step. */
  stepId: string
  step: string
  /** The step in words for people. */
  title: string
  status: 'started' | 'succeeded' | 'failed'
  durationMs?: number
}

/** Reviews a pull request, or comments on it. */
export interface WriteLocalReview {
  /** A comment is `commented`. */
  state: 'approved' | 'changes_requested' | 'commented'
  /** In Markdown. */
  body?: string
  comments?: Array<{
    /** A file of the head. */
    path: string
    line?: number
    /** The thread that it answers in. */
    threadId?: string
    body: string
  }>
}

/** What is absent stays as it is. */
export interface WriteSecret {
  /** At most 32 KiB of UTF-8, and 8 KiB for `egress`, where it is one line. Absent: the present one, unless the change opens it to more requests. */
  value?: string
  /** `variable`: programs get the value. `egress`: they get a placeholder, and the proxy puts the value into requests to the hosts of `egress`. */
  exposure?: 'variable' | 'egress'
  /** Where the value goes. The proxy of the sandbox puts it into requests; programs hold a placeholder. */
  egress?: {
    /** The hosts that get it, over HTTPS. */
    hosts: string[]
    /** The methods of requests that get it; absent: all. */
    methods?: Array<'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE' | 'OPTIONS'>
    /** Paths below which requests get it: `/v1` is that path and everything below it, and not `/v10`. */
    paths?: string[]
    /** Where a request holds the value: exactly one of `header`, `basic` and `query`. */
    put: {
      /** The header of requests that holds it. */
      header?: string
      /** The value of that header, with `{value}` once; absent: `Bearer {value}` in `Authorization`, and `{value}` elsewhere. */
      format?: string
      /** Basic authentication. */
      basic?: {
        /** The user, beside which it is the password. */
        user: string
      }
      /** The parameter of the query that holds it. */
      query?: string
    }
    /** Whether setup scripts may use it as well; false if left out. */
    setup?: boolean
  }
}

/** The types of Events that this version knows, with their `data`. */
export interface EventDataByType {
  'svc.run.started': RunStartedData
  'svc.run.progress': RunProgressData
  'svc.run.completed': RunEndedData
  'svc.run.failed': RunEndedData
  'svc.run.cancelled': RunEndedData
  'svc.run.crashed': RunEndedData
  'svc.environment.apply': EnvironmentApplyData
  'svc.environment.output': EnvironmentOutputData
  'svc.interaction.opened': InteractionData
  'svc.interaction.resolved': InteractionData
  'svc.interaction.expired': InteractionData
  'svc.artifact.created': ArtifactCreatedData
  'svc.artifact.omitted': ArtifactOmittedData
  'svc.publication.created': PublicationData
  'svc.publication.failed': PublicationData
  'svc.publication.merge_succeeded': PublicationData
  'svc.publication.merge_failed': PublicationData
  'svc.followup.started': FollowUpStartedData
  'svc.followup.attempted': FollowUpAttemptedData
  'svc.followup.ended': FollowUpEndedData
  'svc.verification.started': VerificationData
  'svc.verification.completed': VerificationData
  'svc.revision.created': RevisionCreatedData
  'svc.message.created': MessageCreatedData
  'svc.activity.completed': ActivityCompletedData
  'svc.plan.updated': PlanUpdatedData
  'svc.background.updated': BackgroundUpdatedData
  'svc.context.compacted': ContextCompactedData
  'svc.conversation.cleared': ConversationClearedData
  'svc.timeline.truncated': TimelineTruncatedData
  'svc.delegation.started': DelegationStartedData
  'svc.delegation.completed': DelegationCompletedData
  'svc.session.forked': SessionForkedData
  'svc.turn.steered': TurnSteeredData
  'svc.budget.reached': BudgetReachedData
  'svc.output.rejected': OutputRejectedData
  'svc.egress.refused': EgressRefusedData
  'svc.workspace.progress': WorkspaceProgressData
  'svc.workspace.expired': WorkspaceExpiredData
}

/** The codes of refusals that this version knows, with the fields that come with each. */
export interface ErrorCodes {
  /** A body, query or header field is invalid; `issues` names each one. */
  invalid_request: { issues: Issue[] }
  /** A path segment is not a valid id; `parameter` names it. */
  invalid_path_parameter: { parameter: string }
  /** A value is well formed but not acceptable, or a parameter of a repository list is invalid. */
  invalid_input: { issues: Issue[] }
  /** The body is not valid JSON. */
  malformed_request_body: Record<never, never>
  /** The request is not well-formed HTTP. */
  malformed_request: Record<never, never>
  /** The organization header is malformed, appears more than once, or is missing in a request of the console. */
  invalid_organization: Record<never, never>
  /** The organization header was sent together with a bearer credential. */
  organization_header_not_allowed: Record<never, never>
  /** The URL is not an HTTPS URL of a public host, or its host has no address that is public. */
  invalid_url: Record<never, never>
  /** No family is named, one is named twice, or one is unknown. */
  invalid_event_families: Record<never, never>
  /** The document, secret, extension or archive of an environment is not valid; `issues` names each fault. */
  environment_invalid: { issues: Issue[] }
  /** The repository has commits, and no branch `source.baseBranch`, or no default branch; `message` may say more. */
  cloud_repository_branch_not_found: Record<never, never>
  /** The browser has begun no such connection within ten minutes, it was finished already, or the host refused the code. */
  git_connection_refused: Record<never, never>
  /** The model provider refused the request. */
  upstream_request_refused: Record<never, never>
  /** The form has no `file` part. */
  audio_file_required: Record<never, never>
  /** `durationMs` is missing, fractional or out of range. */
  invalid_audio_duration: Record<never, never>
  /** The form is malformed, or contains more than `file` and `durationMs`. */
  invalid_audio_upload: Record<never, never>
  /** No bearer credential was sent. */
  bearer_credential_required: Record<never, never>
  /** The assertion is not valid: check its key, signature, audience and dates. */
  invalid_assertion: Record<never, never>
  /** The credential is unknown, expired, revoked or meant for another API. */
  invalid_or_expired_credential: Record<never, never>
  /** There is no such hook, or no secret of it has signed this body, or it was signed more than five minutes ago or ahead. */
  invalid_signature: Record<never, never>
  /** Nobody is signed in at this browser, or no longer. */
  sign_in_required: Record<never, never>
  /** The Run has spent its cost budget. */
  cost_budget_exceeded: Record<never, never>
  /** A budget of the Session, or of whom it is for, is reached. The Run waits for people; repeat the request later. */
  budget_reached: Record<never, never>
  /** A budget counts the request, and the price of the model is not configured. */
  cost_unknown: Record<never, never>
  /** The credential lacks `svc.cloud.access`. */
  cloud_access_denied: Record<never, never>
  /** The credential lacks the capability in `requiredScope`. */
  insufficient_scope: { requiredScope: string }
  /** Only an installation may call this operation. */
  installation_principal_required: Record<never, never>
  /** The request came from a page of another site, or to the console from none of its own. */
  cross_site_request_refused: Record<never, never>
  /** The person proved who they are more than ten minutes ago; call `stepUpInConsole` first. */
  recent_sign_in_required: Record<never, never>
  /** The caller may not read, manage or select environments. */
  environment_forbidden: Record<never, never>
  /** No active grant covers the repository. */
  cloud_repository_grant_required: Record<never, never>
  /** The connection to the Git host is missing or expired. */
  cloud_github_connection_required: Record<never, never>
  /** The repository cannot be reached through the grant. */
  cloud_repository_unavailable: Record<never, never>
  /** The Git host does not permit the operation. */
  cloud_repository_permission_denied: Record<never, never>
  /** The organization runs on hosts of its own alone, and none of them has ever connected. */
  cloud_compute_not_configured: Record<never, never>
  /** The API has no such path, or the service was built without it. */
  unknown_endpoint: Record<never, never>
  /** Nothing follows the pull request of the Publication; `putFollowUp` begins it. */
  cloud_follow_up_not_found: Record<never, never>
  /** The Session, or the resource within it, does not exist or is not visible to the caller. */
  cloud_session_not_found: Record<never, never>
  /** The workspace has nothing at this path. */
  workspace_file_not_found: Record<never, never>
  /** The membership has no such browser that is pushed to. */
  cloud_push_subscription_not_found: Record<never, never>
  /** The person has no such terminal in the workspace, or no longer. */
  cloud_terminal_not_found: Record<never, never>
  /** The installation has no such grant. */
  cloud_repository_grant_not_found: Record<never, never>
  /** The installation has no such trigger. */
  trigger_not_found: Record<never, never>
  /** The organization has no such environment. */
  environment_not_found: Record<never, never>
  /** The environment has no such trial, or it is not visible to the caller. */
  environment_trial_not_found: Record<never, never>
  /** The organization has no such app. */
  app_not_found: Record<never, never>
  /** The app has no such key. */
  app_key_not_found: Record<never, never>
  /** There is no such live installation of the app, or in the organization. */
  installation_not_found: Record<never, never>
  /** The installation has no such webhook endpoint. */
  webhook_endpoint_not_found: Record<never, never>
  /** The endpoint has no such delivery, or it was forgotten. */
  webhook_delivery_not_found: Record<never, never>
  /** The installation has no such consent, or whoever gave it has left the organization. */
  setup_authority_not_found: Record<never, never>
  /** There is no such organization, or it is not the one of the credential. */
  organization_not_found: Record<never, never>
  /** The person has no such sign-in. */
  sign_in_not_found: Record<never, never>
  /** The organization has no such member. */
  membership_not_found: Record<never, never>
  /** The organization itself, or the person, has no such connection. */
  connection_not_found: Record<never, never>
  /** This service has no such Git host, or people cannot connect accounts of their own there. */
  git_host_not_found: Record<never, never>
  /** The app has no such intent. */
  installation_intent_not_found: Record<never, never>
  /** The organization has no such integration. */
  integration_not_found: Record<never, never>
  /** The organization has no such host of its own. */
  host_not_found: Record<never, never>
  /** The integration has no such active key. */
  api_key_not_found: Record<never, never>
  /** No provider serves this model to the caller. */
  model_not_found: Record<never, never>
  /** The path does not support the method; `allow` lists the supported ones. */
  method_not_allowed: { allow: string[] }
  /** No available media type matches `Accept`. */
  representation_not_acceptable: Record<never, never>
  /** The request did not arrive in time. */
  request_timeout: Record<never, never>
  /** A Session with this id was created with a different body. */
  cloud_session_conflict: Record<never, never>
  /** The Session has already settled on another value, which can no longer change. */
  cloud_session_settled: Record<never, never>
  /** A Turn with this id was admitted with a different body. */
  cloud_turn_conflict: Record<never, never>
  /** Another message waits in the Session than the one that this was to replace, or it is another person's. */
  cloud_next_turn_conflict: Record<never, never>
  /** The agent of the Session cannot be given a message while it works. Send it without `mode` once the Run has ended, or cancel the Run first. */
  cloud_steering_unsupported: Record<never, never>
  /** The Session cannot continue; `continuation` says why. */
  cloud_resume_unavailable: Record<never, never>
  /** The Session still has work to continue from, or lost it in a way that a reset does not repair. */
  cloud_reset_unavailable: Record<never, never>
  /** The Run has no checkpoint to fork from. Only the newest sealed Runs of a Session have one, two unless the operator keeps more: leave `runId` out to fork at the newest. */
  cloud_fork_unavailable: Record<never, never>
  /** The Interaction is closed, or another answer came first. */
  cloud_interaction_conflict: { outcome?: Record<string, unknown> }
  /** The Session has reached its limit of Turns. */
  cloud_turn_limit_reached: Record<never, never>
  /** The Session has no repository. */
  cloud_repository_required: Record<never, never>
  /** The Artifact is neither HTML nor PDF, so it needs no site of its own. */
  cloud_artifact_not_viewable: Record<never, never>
  /** The workspace is not attached; call `restoreWorkspace` first. */
  cloud_workspace_expired: Record<never, never>
  /** The path is a directory, a pipe, a socket or a device, or a link that leads out of the workspace. */
  workspace_file_unreadable: Record<never, never>
  /** The workspace has eight terminals, and somebody looks at each; end one first. */
  cloud_terminal_limit_reached: Record<never, never>
  /** The changes cannot be reviewed: they are too large, or git cannot store them; `message` names the cause. */
  cloud_review_refused: { message?: string }
  /** A Publication with this id was created with a different body. */
  cloud_publication_conflict: Record<never, never>
  /** A review with this id was written with a different body. */
  local_review_conflict: Record<never, never>
  /** A verification with this id was created with a different body. */
  cloud_verification_conflict: Record<never, never>
  /** No verification of the revision by the environment's newest revision has passed, or a later one has failed; create one first. */
  cloud_verification_required: Record<never, never>
  /** The Session is bound to no environment, or its newest revision has no checks. */
  cloud_checks_required: Record<never, never>
  /** A Publication of the Session has not finished. */
  cloud_publication_in_progress: Record<never, never>
  /** The Publication has no pull request, or has not succeeded. */
  cloud_publication_not_mergeable: Record<never, never>
  /** The pull request is merged or closed, so there is nothing to follow any more. */
  cloud_follow_up_ended: Record<never, never>
  /** A Merge with this id was created with a different body. */
  cloud_publication_merge_conflict: Record<never, never>
  /** The release stands with another engine; a release cannot change. */
  runtime_release_conflict: Record<never, never>
  /** The environment has changed, is archived or is the default, or its name is taken; `message` says which. */
  environment_conflict: { message?: string }
  /** The organization has 200 live environments, 1 GiB of archives, or five trials or ten verifications under way, or the Session four verifications. */
  quota_exceeded: Record<never, never>
  /** The installation has 100 triggers; delete one first. */
  trigger_limit_reached: Record<never, never>
  /** The trigger is not enabled, so it takes no deliveries. */
  trigger_disabled: Record<never, never>
  /** Another app has, or had, this slug. */
  app_slug_taken: Record<never, never>
  /** The integration has two active keys of this kind. */
  api_key_limit_reached: Record<never, never>
  /** The organization runs on hosts of its own alone, and they are of another release: install the service's there. */
  cloud_compute_outdated: Record<never, never>
  /** The host is connected, or was heard of within the last minute: stop it for good, and try again a minute later. */
  host_not_away: Record<never, never>
  /** The host holds sandboxes; drain it first. */
  host_in_use: Record<never, never>
  /** The installation has five webhook endpoints; delete one first. */
  endpoint_limit_reached: Record<never, never>
  /** The app has ten active keys; revoke one first. */
  app_key_limit_reached: Record<never, never>
  /** The person is the caller, is disabled, or has an account whose email is proven; `message` says which. An operator can reset anybody. */
  member_reset_refused: Record<never, never>
  /** The organization would be left without an administrator; make another one first. */
  last_administrator: Record<never, never>
  /** The Session has an active Run. */
  cloud_run_in_progress: Record<never, never>
  /** The service is still storing the checkpoint of the last Run. */
  cloud_session_finalizing: Record<never, never>
  /** The body is larger than the operation accepts. */
  request_entity_too_large: Record<never, never>
  /** The recording is larger than 20 MiB. */
  audio_too_large: Record<never, never>
  /** The request target is too long. */
  uri_too_long: Record<never, never>
  /** The recording is not FLAC, MP3, MP4/M4A, Ogg, WAV or WebM. */
  unsupported_audio_format: Record<never, never>
  /** The media type of the body is not accepted. */
  unsupported_media_type: { mediaType?: string }
  /** The range lies outside the content; `Content-Range` contains its size. */
  range_not_satisfiable: Record<never, never>
  /** The recording cannot be decoded, or its length differs from `durationMs`. */
  invalid_audio: Record<never, never>
  /** The recording contains no speech. */
  empty_transcript: Record<never, never>
  /** The write needs `If-Match` with the newest revision of the environment in quotes. */
  precondition_required: Record<never, never>
  /** The caller has exceeded its request rate. */
  cloud_rate_limit_exceeded: { retryAfterSeconds: number }
  /** The network address has sent too many requests without a valid credential. */
  cloud_auth_rate_limit_exceeded: Record<never, never>
  /** The spending limit of the key or its organization is reached. */
  insufficient_quota: Record<never, never>
  /** The model provider is limiting the request rate. */
  upstream_rate_limited: Record<never, never>
  /** The installation has 1,000 deliveries that wait for their Sessions. */
  trigger_backlog_full: Record<never, never>
  /** The request headers are too large. */
  request_header_fields_too_large: Record<never, never>
  /** An unexpected fault; the request may have taken effect. */
  internal_error: Record<never, never>
  /** The model provider refused the gateway's credential. */
  upstream_credential_refused: Record<never, never>
  /** The model provider failed. */
  upstream_failed: Record<never, never>
  /** The response of the model provider is not valid. */
  upstream_invalid_response: Record<never, never>
  /** The model provider cannot be reached. */
  upstream_unreachable: Record<never, never>
  /** The model provider closed the connection in the middle of its response. */
  upstream_cut: Record<never, never>
  /** The model provider is overloaded. */
  upstream_overloaded: Record<never, never>
  /** The service could not verify the credential. */
  identity_service_unavailable: Record<never, never>
  /** The service is restarting, or its database does not answer. */
  service_unavailable: Record<never, never>
  /** The transcription engine is busy or has failed. */
  transcription_unavailable: Record<never, never>
  /** No worker has reported which runtimes it can run. */
  cloud_agent_catalog_unavailable: Record<never, never>
  /** The catalog of extensions cannot be read. */
  cloud_extension_catalog_unavailable: Record<never, never>
  /** The workspace is still starting. */
  cloud_workspace_starting: Record<never, never>
  /** The service could not start a workspace. */
  cloud_workspace_unavailable: Record<never, never>
  /** The workspace lies on a machine that this process does not reach. */
  cloud_terminal_unavailable: Record<never, never>
  /** This process serves its maximum number of streams. */
  event_stream_unavailable: Record<never, never>
  /** No transcription engine is configured, or one of its programs is missing; `message` says which. */
  transcription_not_configured: { message?: string }
  /** The sandbox is on a machine that this process does not reach or that is being drained, or there is no domain for previews. */
  cloud_preview_unavailable: Record<never, never>
  /** The rate limiter failed. */
  cloud_rate_limit_unavailable: Record<never, never>
  /** The model provider did not answer in time. */
  upstream_timeout: Record<never, never>
}

/** Input, answer and page item of each operation. */
export interface Operations {
  /** Read the OpenAPI document */
  getOpenApi: {
    input: Record<never, never>
    answer: Record<string, unknown>
  }
  /** Read the API reference */
  getDocs: {
    input: Record<never, never>
    answer: Response
  }
  /** Read the API reference of a group */
  getDocsGroup: {
    input: { group: string }
    answer: Response
  }
  /** Read the keys of statements. Returns the public keys that verify signed statements of this deployment, as a JSON Web Key Set. Old keys stay in it. Keep a copy to verify without the network. */
  getStatementKeys: {
    input: Record<never, never>
    answer: StatementKeySet
  }
  /** Discover limits and capabilities. Returns the limits of the deployment, and the capabilities of the credential. Read limits here instead of assuming them. */
  getCapabilities: {
    input: Record<never, never>
    answer: Discovery
  }
  /** List agent runtimes. Lists the agents that a Session can name, and why one is not available. */
  listRuntimes: {
    input: Record<never, never>
    answer: RuntimeList
  }
  /** List Sessions. Lists Sessions, most recently changed first. Archived Sessions are left out unless `archived` is set. */
  listSessions: {
    input: { query?: {
      /** Largest number of items in the page. */
      limit?: number
      /** `nextCursor` of the previous page. */
      cursor?: string
      /** `true` includes archived Sessions; `only` lists nothing else. */
      archived?: 'true' | 'only'
      'origin.objectType'?: string
      'origin.objectId'?: string
      'origin.tenantKey'?: string
    } }
    answer: SessionPage
    item: SessionPage['sessions'][number]
  }
  /** Read a Session. Returns a Session as it is now. */
  getSession: {
    input: { sessionId: string }
    answer: SessionEnvelope
  }
  /** Create a Session. Creates a Session under an id that the caller chooses. Repeating the request with the same body returns the Session as it is now. */
  createSession: {
    input: { sessionId?: string; body: CreateSession }
    answer: SessionEnvelope
  }
  /** Change a Session. Changes the given fields; the last write wins. A Run that has been dispatched keeps the values it started with. */
  updateSession: {
    input: { sessionId: string; body: UpdateSession }
    answer: SessionEnvelope
  }
  /** Archive a Session. Archives a Session for good. The Session stays readable. Repeating the request has no further effect. */
  archiveSession: {
    input: { sessionId: string }
    answer: undefined
  }
  /** Restore the workspace. Attaches a workspace: the current one, renewed if it is about to expire, or a fresh sandbox with the last checkpoint. `workspace.expiresAt` is its deadline. */
  restoreWorkspace: {
    input: { sessionId: string }
    answer: SessionEnvelope
  }
  /** Release the workspace. Gives the sandbox of an idle Session back; the next Turn starts in a fresh one, with the work as it was sealed. Use it to have the newest revision of the environment applied. Repeating the request has no further effect. It is refused if the work in the sandbox is not sealed. If somebody worked at a terminal meanwhile, that work is sealed first; repeat the request while it is refused with `cloud_session_finalizing`. */
  releaseWorkspace: {
    input: { sessionId: string }
    answer: undefined
  }
  /** Reset a Session. Lets a Session whose work is lost start again. It is possible only while `continuation` is `unavailable` with the reason `checkpoint_missing`. The log is kept, and its `svc.conversation.cleared` names the Runs whose work is lost. The next Turn starts in a fresh sandbox, from the Session's source if it has one. If the response is lost, read `continuation`: a second call is refused. */
  resetSession: {
    input: { sessionId: string }
    answer: SessionEnvelope
  }
  /** Fork a Session. Makes a new Session that begins where a Run of this one ended: with its workspace, its conversation and its Turns, and a log of its own. `parent` names this Session and the Run. Work in one does not show in the other. Repeating the request with the same `id` and body returns the fork as it is now. */
  forkSession: {
    input: { sessionId: string; body: ForkSession }
    answer: SessionEnvelope
  }
  /** List Turns. Lists the Turns of a Session in the order of their admission. */
  listTurns: {
    input: { sessionId: string; query?: {
      /** Largest number of items in the page. */
      limit?: number
      /** Returns only Turns with a greater sequence. */
      after?: number
    } }
    answer: TurnPage
    item: TurnPage['turns'][number]
  }
  /** Submit a Turn. Admits a Turn, which starts a Run; with `replyTo` it answers an Interaction and resumes the Run that asked, and with `mode` `steer` it joins the active Run. The caller chooses the id. Repeating the request with the same body returns the same Turn and Run. */
  submitTurn: {
    input: { sessionId: string; turnId?: string; body: SubmitTurn }
    answer: TurnAdmission
  }
  /** Read a Run. Returns a Run as it is now. To wait for its end, follow the Event log. */
  getRun: {
    input: { sessionId: string; runId: string }
    answer: RunEnvelope
  }
  /** Cancel a Run. Asks the agent to stop. A running Run ends, with a terminal Event in the log, once its agent has stopped; a queued or awaiting one ends at once. */
  cancelRun: {
    input: { sessionId: string; runId: string }
    answer: RunEnvelope
  }
  /** Inspect the execution fence. Returns which worker executes the Session now, for operators and for debugging. */
  getFence: {
    input: { sessionId: string }
    answer: FenceEnvelope
  }
  /** List open Interactions. Lists the open Interactions of a Session, oldest first. Closed ones are in the log. */
  listInteractions: {
    input: { sessionId: string }
    answer: InteractionList
  }
  /** Decide an approval. Decides an approval; the first decision wins. Repeating the request with the same key and choice returns that decision. To answer a question or a plan, submit a Turn with `replyTo`. */
  decideInteraction: {
    input: { sessionId: string; interactionId: string; body: Omit<DecideInteraction, 'idempotencyKey'> & Partial<Pick<DecideInteraction, 'idempotencyKey'>> }
    answer: DecisionEnvelope
  }
  /** List the hosts of a Session's sandboxes. Lists the hosts that the sandboxes of a Session have reached or were refused, with bytes and times, and how often secrets were put into requests. It is up to ten seconds old. */
  getSessionEgress: {
    input: { sessionId: string }
    answer: SessionEgress
  }
  /** Allow a host that was refused. Allows a host for the environment of a Session, as the decision `allow_project` does: it holds at once for the Sessions of an environment that asks, and is proposed as a change of the environment's document. Open approvals of the Session for the host are decided by it. Repeating the request changes nothing. */
  allowSessionHost: {
    input: { sessionId: string; host: string }
    answer: AllowedHost
  }
  /** Remove a proposed host. Removes a host that somebody allowed for the environment: it holds no more. To accept one, write the document with the host in `network.hosts`. */
  removeProposedHost: {
    input: { environmentId: string; host: string }
    answer: EnvironmentEnvelope
  }
  /** Read the Event log. Returns the Events after a cursor, in order and without gaps. */
  listEvents: {
    input: { sessionId: string; query?: {
      /** Returns only Events with a greater sequence. */
      after?: number
      /** Largest number of items in the page. */
      limit?: number
    } }
    answer: EventPage
    item: EventPage['events'][number]
  }
  /** Digest the Event log. Returns what the log comes to at one of its Events, to be compared with what its pages give, or with a digest that was kept elsewhere. */
  digestEvents: {
    input: { sessionId: string; query?: {
      /** Sequence of an Event of the log. Default: the newest. */
      at?: number
    } }
    answer: LogDigest
  }
  /** Follow the Event log. Streams the Events of a Session as server-sent events. `id` is the sequence and `data` the Event; there is no `event` field. To resume, reconnect with `Last-Event-ID`. */
  streamEvents: {
    input: { sessionId: string; query?: {
      /** Returns only Events with a greater sequence. */
      after?: number
    }; headers?: {
      /** Sequence of the last Event received; takes precedence over `after`. */
      'last-event-id'?: number
    } }
    answer: Response
  }
  /** Follow what the agent is saying. Streams what the agent is saying and which tools run, as server-sent events: `data` is `{ message?, activities, steps? }`, always the whole of it. `steps` has how far the steps of `svc.workspace.progress` have come that download or write: `{ stepId, title, progress: { unit, done, total?, bytes? } }`. A preview is not part of the log, is never repeated, and disappears when the Event of the same id is appended. The events have no `id`: a reader that misses some has missed nothing that counts. */
  streamPreviews: {
    input: { sessionId: string }
    answer: Response
  }
  /** Follow changes of Sessions. Streams a notice for each change of a Session as server-sent events. `id` is the cursor of the feed and `data` is `{ sessionId, lastEventSequence, updatedAt }`. The feed starts at the present; `Last-Event-ID` resumes it. If it cannot resume, `data` is `{ reset: true }`: list the Sessions again. */
  streamSessions: {
    input: { headers?: {
      /** Cursor of the last notice received. */
      'last-event-id'?: string
    } }
    answer: Response
  }
  /** List Artifacts. Lists the Artifacts of a Session, oldest first. */
  listArtifacts: {
    input: { sessionId: string; query?: {
      /** Largest number of items in the page. */
      limit?: number
      /** `nextCursor` of the previous page. */
      cursor?: string
    } }
    answer: ArtifactPage
    item: ArtifactPage['artifacts'][number]
  }
  /** Read an Artifact's manifest. Returns name, type, size and digest of an Artifact. */
  getArtifact: {
    input: { sessionId: string; artifactId: string }
    answer: ArtifactEnvelope
  }
  /** Read an Artifact's bytes. Returns the content of an Artifact. Supports a `Range` header with one range, `If-Range` and `If-None-Match`. */
  getArtifactContent: {
    input: { sessionId: string; artifactId: string }
    answer: Response
  }
  /** Open HTML or PDF in a sandbox. Gives a URL that shows an Artifact once within 60 seconds, at a host of its own below the domain of previews. The content has no origin, no cookies and no network, and is served for an hour at most. (First-party: it may change in any release.) */
  openArtifactView: {
    input: { sessionId: string; artifactId: string }
    answer: ArtifactViewLink
  }
  /** Review the changes. Compares the workspace with its base commit and stores the changes as an immutable revision. It works while a Run is active, too. With `revision` it reads one that was stored before, such as that of `svc.revision.created`, and needs no workspace. */
  reviewRepository: {
    input: { sessionId: string; query?: {
      revision?: string
    } }
    answer: ReviewEnvelope
  }
  /** List verifications. Lists the verifications of a Session, newest first. */
  listVerifications: {
    input: { sessionId: string; query?: {
      /** Largest number of items in the page. */
      limit?: number
      /** `nextCursor` of the previous page. */
      cursor?: string
    } }
    answer: VerificationPage
    item: VerificationPage['verifications'][number]
  }
  /** Verify a revision. Runs the checks of the Session's environment on exactly the reviewed revision, in a fresh sandbox. Workers do this in the background; no workspace is needed, and none is read. If the Session has results of the same checks on the same tree, the answer has them at once. */
  createVerification: {
    input: { sessionId: string; verificationId: string; body: Omit<CreateVerification, 'fresh'> & Partial<Pick<CreateVerification, 'fresh'>> }
    answer: VerificationEnvelope
  }
  /** Read a verification. Returns a verification as it is now. */
  getVerification: {
    input: { sessionId: string; verificationId: string }
    answer: VerificationEnvelope
  }
  /** Cancel a verification. Gives its sandbox back. A verification that has ended stays as it ended. */
  cancelVerification: {
    input: { sessionId: string; verificationId: string }
    answer: VerificationEnvelope
  }
  /** List Publications. Lists the Publications of a Session, newest first, including failed ones. */
  listPublications: {
    input: { sessionId: string; query?: {
      /** Largest number of items in the page. */
      limit?: number
      /** `nextCursor` of the previous page. */
      cursor?: string
    } }
    answer: PublicationPage
    item: PublicationPage['publications'][number]
  }
  /** Publish a revision. Delivers exactly the reviewed revision. Workers do this in the background: until the status is final, read the Publication again, and never repeat the request under another id. */
  createPublication: {
    input: { sessionId: string; publicationId?: string; body: Omit<CreatePublication, 'delivery' | 'draft' | 'verified'> & Partial<Pick<CreatePublication, 'delivery' | 'draft' | 'verified'>> }
    answer: PublicationEnvelope
  }
  /** Read a Publication. Returns a Publication as it is now. */
  getPublication: {
    input: { sessionId: string; publicationId: string }
    answer: PublicationEnvelope
  }
  /** Read the signed statement. Returns the signed statement on the commit of a Publication that was verified: an in-toto Statement in a DSSE envelope, or with `format=sigstore` in a Sigstore bundle. A Publication that has not ended well, or that no passed verification stood for, has none. */
  getStatement: {
    input: { sessionId: string; publicationId: string; query?: {
      format?: 'dsse' | 'sigstore'
    } }
    answer: SignedStatement | SigstoreBundle
  }
  /** Find the statements on a commit. Lists the newest signed statements on a commit, of the Sessions that the caller sees. */
  listStatements: {
    input: { query: {
      commit: string
    } }
    answer: StatementList
  }
  /** List Merges. Lists the Merges of a Publication, newest first. */
  listMerges: {
    input: { sessionId: string; publicationId: string; query?: {
      /** Largest number of items in the page. */
      limit?: number
      /** `nextCursor` of the previous page. */
      cursor?: string
    } }
    answer: MergePage
    item: MergePage['merges'][number]
  }
  /** Merge a pull request. Merges the Publication's pull request at exactly the published head, or not at all. */
  createMerge: {
    input: { sessionId: string; publicationId: string; mergeId?: string; body: Omit<CreateMerge, 'mode'> & Partial<Pick<CreateMerge, 'mode'>> }
    answer: MergeEnvelope
  }
  /** Read a Merge. Returns a Merge as it is now. */
  getMerge: {
    input: { sessionId: string; publicationId: string; mergeId: string }
    answer: MergeEnvelope
  }
  /** Read a follow-up. Returns what the service does for the pull request of a Publication. Each Publication of it finds it. */
  getFollowUp: {
    input: { sessionId: string; publicationId: string }
    answer: FollowUpEnvelope
  }
  /** Follow a pull request. Carries a pull request on until it is merged: failed checks, reviews, conflicts and a moved base make Turns of the Session, and their work is pushed to the pull request. Replaces the bounds if there is a follow-up already, and resumes one that needs a person or was stopped: its attempts begin at none again. */
  putFollowUp: {
    input: { sessionId: string; publicationId: string; body: Omit<FollowUpRequest, 'maxAttempts' | 'days' | 'merge' | 'on'> & Partial<Pick<FollowUpRequest, 'maxAttempts' | 'days' | 'merge' | 'on'>> }
    answer: FollowUpEnvelope
  }
  /** Stop a follow-up. Stops following a pull request. A Run that is at it goes on, but nothing of it is pushed. One that has ended stays as it is. */
  stopFollowUp: {
    input: { sessionId: string; publicationId: string }
    answer: FollowUpEnvelope
  }
  /** List pull requests. Lists the pull requests that Sessions have published, the last changed first. */
  listPullRequests: {
    input: { query?: {
      /** Largest number of items in the page. */
      limit?: number
      /** `nextCursor` of the previous page. */
      cursor?: string
      state?: 'open' | 'draft' | 'merged' | 'closed' | 'unknown'
      /** Only those of Sessions that the person of the credential started. */
      mine?: 'true'
    } }
    answer: PullRequestPage
    item: PullRequestPage['pullRequests'][number]
  }
  /** List models. Lists the models that the caller may use: those of the configured providers, and aliases. With `anthropic-version`, the list has Anthropic's format (`data`, `has_more`, `first_id`, `last_id`; of each model `type`, `id`, `display_name`, `created_at`, `max_input_tokens`, `max_tokens`, `capabilities`) and holds the models that can be used in it. With `x-goog-api-key`, it is the list of `/v1beta/models`. The header `x-svc-silent-providers` names the providers that did not answer with their lists; of those it has what they told last. */
  listModels: {
    input: { query?: {
      /** Largest number of models in the page; in Anthropic's format. */
      limit?: number
      /** `last_id` of the previous page; in Anthropic's format. */
      after_id?: string
      /** `first_id` of the next page; in Anthropic's format. */
      before_id?: string
    }; headers?: {
      /** Anthropic's clients send it: the answer then has their provider's format. */
      'anthropic-version'?: string
    } }
    answer: ModelList
  }
  /** Get a model. Returns a model that the caller may use, in the format that `listModels` would use for the caller. Slashes in the model's id may be sent as they are or as `%2F`. */
  getModel: {
    input: { model: string; headers?: {
      /** Anthropic's clients send it: the answer then has their provider's format. */
      'anthropic-version'?: string
    } }
    answer: Model
  }
  /** List models in Google's format. Lists the models that the caller may use over Google's generateContent. */
  listContentModels: {
    input: { query?: {
      /** Largest number of models in the page. */
      pageSize?: number
      /** `nextPageToken` of the previous page. */
      pageToken?: string
    } }
    answer: GoogleModelList
  }
  /** Get a model in Google's format. Returns a model that the caller may use over Google's generateContent. Slashes in the model's id may be sent as they are or as `%2F`. */
  getContentModel: {
    input: { model: string }
    answer: GoogleModel
  }
  /** Create a response. OpenAI's Responses API. The gateway keeps nothing, so each turn must send the earlier input and output items again. */
  createResponse: {
    input: { body: CreateResponse }
    answer: Response
  }
  /** Create a chat completion. OpenAI's Chat Completions API. */
  createChatCompletion: {
    input: { body: CreateChatCompletion }
    answer: Response
  }
  /** Create a message. Anthropic's Messages API. The gateway passes requests through to providers that speak it, and does not translate them. */
  createMessage: {
    input: { query?: {
      /** Passed on to the provider. */
      beta?: 'true'
    }; headers?: {
      /** Passed on to the provider; `2023-06-01` if absent. */
      'anthropic-version'?: string
      /** Names of betas, passed on to the provider. */
      'anthropic-beta'?: string
    }; body: CreateMessage }
    answer: Response
  }
  /** Count the tokens of a message. Anthropic's token count. It is free, so the gateway does not record it. */
  countMessageTokens: {
    input: { query?: {
      /** Passed on to the provider. */
      beta?: 'true'
    }; headers?: {
      /** Passed on to the provider; `2023-06-01` if absent. */
      'anthropic-version'?: string
      /** Names of betas, passed on to the provider. */
      'anthropic-beta'?: string
    }; body: CountMessageTokens }
    answer: Record<string, unknown>
  }
  /** Generate content. Google's generateContent. The gateway passes requests through to providers that speak it, and does not translate them. Slashes in the model's id may be sent as they are or as `%2F`. The path may also begin with `/v1`, and `models/` may be left out. */
  generateContent: {
    input: { model: string; body: GenerateContent }
    answer: Record<string, unknown>
  }
  /** Stream generated content. Google's streamGenerateContent: the same as generateContent, but as server-sent events. Slashes in the model's id may be sent as they are or as `%2F`. The path may also begin with `/v1`, and `models/` may be left out. */
  streamGenerateContent: {
    input: { model: string; query: {
      /** Server-sent events, the only supported stream format. */
      alt: 'sse'
    }; body: GenerateContent }
    answer: Response
  }
  /** Count the tokens of content. Google's token count. It is free, so the gateway does not record it. Slashes in the model's id may be sent as they are or as `%2F`. The path may also begin with `/v1`, and `models/` may be left out. */
  countContentTokens: {
    input: { model: string; body: CountContentTokens }
    answer: Record<string, unknown>
  }
  /** List repositories. Lists the repositories that the installation's grants cover, as the Git hosts report them now. Time is limited, so a page may be short or empty while `hasMore` is true. `missing` names the accounts whose hosts did not answer; a host that may answer later is asked once more, on the pages after those of the others. */
  listRepositories: {
    input: { query?: {
      /** Largest number of items in the page. */
      limit?: number
      /** `nextCursor` of the previous page. */
      cursor?: string
    } }
    answer: RepositoryPage
    item: RepositoryPage['repositories'][number]
  }
  /** List repository grants. Lists grants, newest first, including those that have ended. The first page asks the hosts of accounts that are granted whole for new repositories; `missing` names those that did not answer. */
  listRepositoryGrants: {
    input: { query?: {
      /** Largest number of items in the page. */
      limit?: number
      /** `nextCursor` of the previous page. */
      cursor?: string
    } }
    answer: RepositoryGrantPage
    item: RepositoryGrantPage['grants'][number]
  }
  /** Find the active successor of a grant. Follows the replacements of a grant to the active one; returns the grant itself if it is active. */
  getActiveRepositoryGrant: {
    input: { grantId: string }
    answer: RepositoryGrantEnvelope
  }
  /** Read a pull request of a local repository. Returns a pull request of a repository that the service itself hosts, with the reasons that keep it from being merged. The caller sees the Session that published it, or holds a grant of the repository. */
  getLocalPull: {
    input: { repositoryId: string; number: string }
    answer: LocalPullEnvelope
  }
  /** Review a pull request of a local repository. Reviews an open pull request of a repository that the service itself hosts, or comments on it and its lines. Whoever may read it and publish may do so. A review never changes; what follows the pull request takes it up. */
  reviewLocalPull: {
    input: { repositoryId: string; number: string; reviewId: string; body: WriteLocalReview }
    answer: LocalReviewEnvelope
  }
  /** List environments. Lists environments by name. Archived ones are left out unless `archived` is set. */
  listEnvironments: {
    input: { query?: {
      /** Largest number of items in the page. */
      limit?: number
      /** `nextCursor` of the previous page. */
      cursor?: string
      /** `true` includes archived environments; `only` lists nothing else. */
      archived?: 'true' | 'only'
    } }
    answer: EnvironmentPage
    item: EnvironmentPage['environments'][number]
  }
  /** Read an environment */
  getEnvironment: {
    input: { environmentId: string }
    answer: EnvironmentEnvelope
  }
  /** List revisions of an environment. Lists revisions, newest first, also those of an archived environment. */
  listEnvironmentRevisions: {
    input: { environmentId: string; query?: {
      /** Returns only revisions with a smaller number. */
      before?: number
      /** Largest number of items in the page. */
      limit?: number
    } }
    answer: EnvironmentRevisionPage
    item: EnvironmentRevisionPage['revisions'][number]
  }
  /** Create or update an environment. Without `If-Match` it creates; with it, it replaces the named revision. A document equal to the newest one changes nothing. */
  putEnvironment: {
    input: { environmentId?: string; headers?: {
      /** The revision that the write replaces, in quotes, such as `"3"`. */
      'if-match'?: string
    }; body: {
      document: EnvironmentDraft
    } }
    answer: EnvironmentEnvelope
  }
  /** Archive an environment. Sessions that are bound to it stay bound. The default cannot be archived. */
  archiveEnvironment: {
    input: { environmentId: string; headers: {
      /** The revision that the write replaces, in quotes, such as `"3"`. */
      'if-match': string
    } }
    answer: EnvironmentEnvelope
  }
  /** Unarchive an environment */
  unarchiveEnvironment: {
    input: { environmentId: string; headers: {
      /** The revision that the write replaces, in quotes, such as `"3"`. */
      'if-match': string
    } }
    answer: EnvironmentEnvelope
  }
  /** Restore a revision of an environment. Writes a new revision with the document of an earlier one and today's secrets. */
  restoreEnvironmentRevision: {
    input: { environmentId: string; revision: string; headers: {
      /** The revision that the write replaces, in quotes, such as `"3"`. */
      'if-match': string
    } }
    answer: EnvironmentEnvelope
  }
  /** Write a secret of an environment. Writes a new revision that pins the new version. The value is never returned; sandboxes get it, or a placeholder for it, as a variable of that name. */
  putEnvironmentSecret: {
    input: { environmentId: string; name: string; headers: {
      /** The revision that the write replaces, in quotes, such as `"3"`. */
      'if-match': string
    }; body: WriteSecret }
    answer: EnvironmentEnvelope
  }
  /** Delete a secret of an environment */
  deleteEnvironmentSecret: {
    input: { environmentId: string; name: string; headers: {
      /** The revision that the write replaces, in quotes, such as `"3"`. */
      'if-match': string
    } }
    answer: EnvironmentEnvelope
  }
  /** Upload an extension to an environment. Stores the archive of an extension under the digest of its bytes. It writes no revision: name the archive in the extensions of the document to install it. A repeat changes nothing. The service removes an archive that no revision names after a day. */
  uploadEnvironmentArchive: {
    input: { environmentId: string; sha256: string; body: Uint8Array }
    answer: EnvironmentArchiveEnvelope
  }
  /** List the catalog of extensions. Lists the extensions that the operator offers, by slug, each at the release that sandboxes get. */
  listExtensions: {
    input: Record<never, never>
    answer: ExtensionList
  }
  /** Choose the default environment. The default binds new Sessions of people that name no environment; null clears it. */
  setDefaultEnvironment: {
    input: { body: SetDefaultEnvironment }
    answer: DefaultEnvironment
  }
  /** Try an environment. Applies the newest revision in a sandbox that is given back at the end. No agent starts, and the trial is in no list of Sessions. It is stopped if nobody has read or followed it for a minute, and at `endsAt` in any case. */
  startEnvironmentTrial: {
    input: { environmentId: string; body: StartTrial }
    answer: EnvironmentTrialEnvelope
  }
  /** Read a trial of an environment. A trial that has ended can be read for about a day. */
  getEnvironmentTrial: {
    input: { environmentId: string; trialId: string }
    answer: EnvironmentTrialEnvelope
  }
  /** Follow a trial of an environment. Streams as server-sent events. `data` is `{ kind: "trial", trial }` at the beginning and at each change of the state, or `{ kind: "event", event }` with an Event of the log, whose `id` is its sequence. To resume, reconnect with `Last-Event-ID`. The last frame is the trial that has ended. */
  streamEnvironmentTrial: {
    input: { environmentId: string; trialId: string; query?: {
      /** Returns only Events with a greater sequence. */
      after?: number
    }; headers?: {
      /** Sequence of the last Event received; takes precedence over `after`. */
      'last-event-id'?: number
    } }
    answer: Response
  }
  /** Stop a trial of an environment. Gives the sandbox back. A trial that has ended stays as it ended. */
  stopEnvironmentTrial: {
    input: { environmentId: string; trialId: string }
    answer: EnvironmentTrialEnvelope
  }
  /** Transcribe a recording. Transcribes a recording. The form contains `file` and `durationMs` and nothing else. The service detects the format from the bytes and measures the length by decoding them. */
  createTranscription: {
    input: { body: FormData }
    answer: Transcription
  }
  /** Read the standing probe. Returns the release that the installation tries; null if it tries none. */
  getRuntimeReleaseProbe: {
    input: Record<never, never>
    answer: StandingRuntimeReleaseProbe
  }
  /** Try a release. Replaces the engine of runtime `native` in sandboxes that are made for the installation's Sessions from now on, until the probe is deleted, replaced or expired. A sandbox keeps the engine that it was made with. Answers after the service has the bytes and has verified their digest. A release cannot change its engine. */
  activateRuntimeReleaseProbe: {
    input: { releaseSha: string; body: ActivateRuntimeReleaseProbe }
    answer: RuntimeReleaseProbeEnvelope
  }
  /** Upload the engine of a release. Stores an engine for a later activation of the release without a URL. The service keeps an installation's four newest uploads, each for 24 hours. */
  uploadRuntimeReleaseEngine: {
    input: { releaseSha: string; body: Uint8Array }
    answer: UploadedEngine
  }
  /** Stop trying a release. Ends the probe if it still names this release. Idempotent. */
  deleteRuntimeReleaseProbe: {
    input: { releaseSha: string }
    answer: undefined
  }
  /** Read who the bearer is. For access tokens of people alone. It answers even if the organization has no product access; `capabilities` then leaves the product's out. */
  getMe: {
    input: Record<never, never>
    answer: Identity
  }
  /** List members */
  listMembers: {
    input: { organizationId: string }
    answer: MemberList
  }
  /** Change a member's role or permissions. The change holds on the next request of the member. */
  updateMember: {
    input: { organizationId: string; membershipId: string; body: UpdateMember }
    answer: MemberEnvelope
  }
  /** Remove a member. The member's tokens are refused from the next request on. Sessions and integrations of theirs stay. */
  removeMember: {
    input: { organizationId: string; membershipId: string }
    answer: undefined
  }
  /** Let a member choose a new password. Returns a link to hand over; the service sends no mail. It works once, for 24 hours, and no longer once the person joins another organization. Earlier ones stop working. Whoever follows it ends every sign-in of the person, and unlinks their identities and accounts at Git hosts. */
  resetMember: {
    input: { organizationId: string; membershipId: string; body: ResetMember }
    answer: MemberReset
  }
  /** Invite a person. Returns a link to hand over; the service sends no mail. It works once, for 24 hours. Earlier invitations of the email stop working. */
  createInvitation: {
    input: { organizationId: string; body: CreateInvitation }
    answer: CreatedInvitation
  }
  /** List open invitations */
  listInvitations: {
    input: { organizationId: string }
    answer: InvitationList
  }
  /** Withdraw an invitation. Withdrawing an invitation that no longer works changes nothing. */
  withdrawInvitation: {
    input: { organizationId: string; invitationId: string }
    answer: undefined
  }
  /** Read the audit log */
  listAudit: {
    input: { organizationId: string; query?: {
      /** Largest number of items in the page. */
      limit?: number
      /** `nextCursor` of the previous page. */
      cursor?: string
      /** Return only entries of this action. */
      action?: string
    } }
    answer: AuditPage
    item: AuditPage['entries'][number]
  }
  /** List the bearer's own sign-ins */
  listSignIns: {
    input: Record<never, never>
    answer: SignInList
  }
  /** End one of the bearer's own sign-ins. Its tokens are refused from the next request on. Ending a sign-in again changes nothing. */
  endSignIn: {
    input: { signInId: string }
    answer: undefined
  }
  /** Create an app. The app belongs to the organization of the caller's membership. */
  createApp: {
    input: { body: CreateApp }
    answer: AppEnvelope
  }
  /** List the organization's apps */
  listApps: {
    input: Record<never, never>
    answer: AppList
  }
  /** Change an app's name or redirects */
  updateApp: {
    input: { appSlug: string; body: UpdateApp }
    answer: AppEnvelope
  }
  /** Delete an app. Its keys are refused from now on, and its installations are revoked in every organization. The slug is never given to another app. */
  deleteApp: {
    input: { appSlug: string }
    answer: undefined
  }
  /** Register a public key. The key is named by its RFC 7638 thumbprint. Registering an active key again answers 200 with the same `kid`. A revoked key cannot return. */
  registerAppKey: {
    input: { appSlug: string; body: RegisterAppKey }
    answer: RegisteredAppKey
  }
  /** List an app's keys. Lists keys in the order of their registration, revoked ones included. */
  listAppKeys: {
    input: { appSlug: string }
    answer: AppKeyList
  }
  /** Revoke a key. Assertions that the key signed are refused from now on. Revoking a key again changes nothing. */
  revokeAppKey: {
    input: { appSlug: string; kid: string }
    answer: undefined
  }
  /** Exchange an assertion for an installation token. The token opens one installation for one audience. What it may do is the installation's grant at each request. */
  exchangeInstallationToken: {
    input: { body: ExchangeInstallationToken }
    answer: IssuedToken
  }
  /** Exchange an assertion for a token of an end user. The token opens the AI gateway alone, and its usage is attributed to `endUserId`. */
  exchangeEndUserToken: {
    input: { body: ExchangeEndUserToken }
    answer: IssuedToken
  }
  /** Ask for an installation. Hand `authorizeUrl` to a person of the organization that is to install the app. The intent waits 15 minutes for their decision. An app may have 100 that wait. */
  createInstallationIntent: {
    input: { body: CreateInstallationIntent }
    answer: InstallationIntentEnvelope
  }
  /** Read an intent. Reading changes nothing, so it is safe to repeat. An authorized intent stays readable for an hour after the decision. */
  readInstallationIntent: {
    input: { intentId: string; body: ReadInstallationIntent }
    answer: InstallationIntentEnvelope
  }
  /** List an organization's installations. Lists installations of apps and integrations, newest first, including those that were revoked. */
  listInstallations: {
    input: { organizationId: string }
    answer: InstallationList
  }
  /** Change a grant. What the installation may do changes on its next request. Runs under way go on. */
  updateInstallation: {
    input: { installationId: string; body: UpdateInstallation }
    answer: InstallationEnvelope
  }
  /** Revoke an installation. Its keys and tokens are refused from the next request on, its streams and Runs end, and it cannot return. Revoking it again changes nothing. */
  revokeInstallation: {
    input: { installationId: string }
    answer: undefined
  }
  /** Create an integration. An installation that needs no app's backend: it is used with API keys. */
  createIntegration: {
    input: { organizationId: string; body: CreateIntegration }
    answer: IntegrationEnvelope
  }
  /** List an organization's integrations */
  listIntegrations: {
    input: { organizationId: string }
    answer: IntegrationList
  }
  /** Delete an integration. Revokes its installation and its keys. */
  deleteIntegration: {
    input: { organizationId: string; integrationId: string }
    answer: undefined
  }
  /** Create an API key. Two keys of a kind can be active, so that one can replace the other without a pause. An `ai` key needs `svc.ai.invoke` in the grant. */
  createApiKey: {
    input: { organizationId: string; integrationId: string; body: CreateApiKey }
    answer: CreatedApiKey
  }
  /** List an integration's active keys */
  listApiKeys: {
    input: { organizationId: string; integrationId: string }
    answer: ApiKeyList
  }
  /** Revoke an API key. The key is refused from the next request on. */
  revokeApiKey: {
    input: { organizationId: string; integrationId: string; keyId: string }
    answer: undefined
  }
  /** List the organization's connections to Git hosts */
  listConnections: {
    input: { organizationId: string }
    answer: ConnectionList
  }
  /** Connect the organization to an account. Grants what an installation of the organization has been granted of the account. Operators connect other accounts. */
  addConnection: {
    input: { organizationId: string; body: AddConnection }
    answer: ConnectionEnvelope
  }
  /** Change who may use a connection */
  updateConnection: {
    input: { organizationId: string; connectionId: string; body: UpdateConnection }
    answer: ConnectionEnvelope
  }
  /** End a connection. Nothing is checked out, pushed or merged under it any more. Ending it again changes nothing. */
  removeConnection: {
    input: { organizationId: string; connectionId: string }
    answer: undefined
  }
  /** List the person's accounts at Git hosts (First-party: it may change in any release.) */
  listGitConnections: {
    input: Record<never, never>
    answer: GitConnectionList
  }
  /** Begin to connect an account at a Git host. At `url` the host asks the person. It sends the browser back to the page, which finishes within ten minutes, in the same browser, and once. (First-party: it may change in any release.) */
  beginGitConnection: {
    input: { body: BeginGitConnection }
    answer: GoTo
  }
  /** Finish to connect an account at a Git host. Takes what the host sent the browser back with. It replaces an account that was connected before. (First-party: it may change in any release.) */
  finishGitConnection: {
    input: { body: FinishGitConnection }
    answer: GitConnectionMade
  }
  /** End a connection to the person's account at a Git host. The host is told to refuse its tokens. (First-party: it may change in any release.) */
  removeGitConnection: {
    input: { gitConnectionId: string }
    answer: undefined
  }
  /** List the accounts that the organization could be connected to. Lists where the App is installed and the person has access, as the Git host reports it now. (First-party: it may change in any release.) */
  listGitAccounts: {
    input: { gitConnectionId: string }
    answer: GitAccountList
  }
  /** Connect the organization to an account that the person administers. The host is asked, with the person's own token, whether they administer the account. The organization gets every repository of it that the App reaches, later ones included. (First-party: it may change in any release.) */
  connectGitAccount: {
    input: { gitConnectionId: string; body: ConnectGitAccount }
    answer: ConnectionEnvelope
  }
  /** List the organization's repositories. Lists the repositories that the organization's own connections reach, as the Git hosts report them now. (First-party: it may change in any release.) */
  listOrganizationRepositories: {
    input: { query?: {
      /** Largest number of items in the page. */
      limit?: number
      /** `nextCursor` of the previous page. */
      cursor?: string
      /** Part of `owner/name`, in either case. */
      q?: string
    } }
    answer: RepositoryPage
    item: RepositoryPage['repositories'][number]
  }
  /** List branches of a repository. Lists at most 100 branches, as the Git host reports them now. (First-party: it may change in any release.) */
  listOrganizationBranches: {
    input: { grantId: string; repositoryId: string; query?: {
      /** Beginning of the name. */
      q?: string
    } }
    answer: BranchList
  }
  /** Make the organization's sample repository. A small repository of the local Git host with a test that fails. The first call makes it, and grants it to the organization alone. After the connection or the grant was removed, only an administrator makes it again. (First-party: it may change in any release.) */
  provideSampleRepository: {
    input: Record<never, never>
    answer: RepositoryEnvelope
  }
  /** Create a Session on one of the organization's repositories. With a `source`, the service's own installation owns the Session, and `initiatedBy` names the person. Without one, this is `createSession`. (First-party: it may change in any release.) */
  createOrganizationSession: {
    input: { sessionId?: string; body: CreateSession }
    answer: SessionEnvelope
  }
  /** Read a pull request of a local repository. Returns a pull request of a repository that the service itself hosts, with the reasons that keep it from being merged. The caller sees the Session that published it, or holds a grant of the repository. (First-party: it may change in any release.) */
  getOrganizationPull: {
    input: { repositoryId: string; number: string }
    answer: LocalPullEnvelope
  }
  /** Review a pull request of a local repository. Reviews an open pull request of a repository that the service itself hosts, or comments on it and its lines. Whoever may read it and publish may do so. A review never changes; what follows the pull request takes it up. (First-party: it may change in any release.) */
  reviewOrganizationPull: {
    input: { repositoryId: string; number: string; reviewId: string; body: WriteLocalReview }
    answer: LocalReviewEnvelope
  }
  /** Follow what one tab shows. Streams as server-sent events, in one connection: the Events and the preview of up to four Sessions, and with `feed` the changes of all. `data` is one of `{ kind: "event", sessionId, event }`, `{ kind: "preview", sessionId, preview }`, `{ kind: "session", session }` and `{ kind: "reset" }`, on which the client lists its Sessions. (First-party: it may change in any release.) */
  followLive: {
    input: { query?: {
      feed?: '1'
      /** May be repeated. */
      session?: string[]
    } }
    answer: Response
  }
  /** List Sessions with what a person has to know of them (First-party: it may change in any release.) */
  listSessionStates: {
    input: { query?: {
      /** Largest number of items in the page. */
      limit?: number
      /** `nextCursor` of the previous page. */
      cursor?: string
      archived?: 'true' | 'only'
      /** Words, each of which the title, the repository or the branch contains, in either case. */
      q?: string
      /** Only those of a status; `rest`: those that neither wait for a person nor work. */
      state?: 'needs_you' | 'working' | 'failed' | 'ready_to_review' | 'pull_request_open' | 'merged' | 'stopped' | 'done' | 'rest'
      /** Only those that the person started. */
      mine?: '1'
      /** `1`: only those that the person pinned; `0`: only the others. */
      pinned?: '0' | '1'
      /** `1`: only those that the person snoozes now; `0`: only the others. */
      snoozed?: '0' | '1'
      /** `<kind>:<repositoryId>` of the source. */
      repository?: string
      /** Only those with a pull request. */
      pull?: '1'
      /** Says as well how many follow the page: `remaining`. */
      counted?: '1'
    } }
    answer: SessionStatePage
    item: SessionStatePage['sessions'][number]
  }
  /** Read what the first look at a Session needs (First-party: it may change in any release.) */
  getSessionOverview: {
    input: { sessionId: string }
    answer: SessionOverview
  }
  /** Read what a Session has spent on models. With the active Run, whose requests count as soon as they have ended. (First-party: it may change in any release.) */
  getSessionCost: {
    input: { sessionId: string }
    answer: SessionCost
  }
  /** Read what keeps a Publication's pull request from being merged. As the Git host reports it now, with each check by name. (First-party: it may change in any release.) */
  listPublicationChecks: {
    input: { sessionId: string; publicationId: string }
    answer: PullChecks
  }
  /** List the revisions that were made of a Session (First-party: it may change in any release.) */
  listStoredReviews: {
    input: { sessionId: string }
    answer: StoredReviewList
  }
  /** Read a stored revision again. Needs no sandbox, and starts none. (First-party: it may change in any release.) */
  getStoredReview: {
    input: { sessionId: string; revision: string }
    answer: ReviewEnvelope
  }
  /** Read the lines of one file of a stored revision. Reaches files beyond the bound of `patch`, and the unchanged lines around each change. (First-party: it may change in any release.) */
  getStoredReviewFile: {
    input: { sessionId: string; revision: string; number: string; query?: {
      /** How many unchanged lines to give around each change. */
      context?: number
    } }
    answer: ReviewFileDiff
  }
  /** Search what the Events of a Session tell. One request searches at most 20 000 Events; `before` of its answer says where to go on. (First-party: it may change in any release.) */
  searchSession: {
    input: { sessionId: string; query: {
      /** Words as they stand there, in either case. */
      q: string
      before?: number
    } }
    answer: SessionMatchPage
    item: SessionMatchPage['matches'][number]
  }
  /** Note what a person has read. Never takes back what was read. (First-party: it may change in any release.) */
  markSessionRead: {
    input: { sessionId: string; body: MarkRead }
    answer: SessionStateEnvelope
  }
  /** Pin or snooze a Session for a person, or no longer. What is absent stays as it is. (First-party: it may change in any release.) */
  markSession: {
    input: { sessionId: string; body: MarkSession }
    answer: SessionStateEnvelope
  }
  /** List the files of a Session's changes that a person has viewed (First-party: it may change in any release.) */
  listViewedFiles: {
    input: { sessionId: string }
    answer: ViewedFiles
  }
  /** Mark a file of a Session's changes as viewed, or no longer. Keeps one mark for each path. Beyond 2000 the oldest is forgotten. (First-party: it may change in any release.) */
  markFileViewed: {
    input: { sessionId: string; body: MarkFileViewed }
    answer: ViewedMarks
  }
  /** Read the message that waits until the Run ends (First-party: it may change in any release.) */
  getNextTurn: {
    input: { sessionId: string }
    answer: NextTurnEnvelope
  }
  /** Leave a message that becomes a Turn when the Run ends. Takes the place of the earlier message of the same person that `replaces` names, and of no other. If the Turn is then refused, the message stays with the reason, until it is replaced or taken back. (First-party: it may change in any release.) */
  putNextTurn: {
    input: { sessionId: string; body: PutNextTurn }
    answer: NextTurnEnvelope
  }
  /** Take back the message that waits. Anybody who may submit Turns can take it back, and gets its text. (First-party: it may change in any release.) */
  withdrawNextTurn: {
    input: { sessionId: string }
    answer: NextTurnEnvelope
  }
  /** Look at a directory or a file of a workspace. Lists a directory, or says how large a file is. Without a sandbox the answer comes from the last checkpoint, which lacks what checkpoints leave out. At `base` it comes from the repository alone, which lies in `project`. (First-party: it may change in any release.) */
  getWorkspaceNode: {
    input: { sessionId: string; query?: {
      /** Below `/workspace`, or absolute as in the sandbox; absent: the workspace itself. */
      path?: string
      /** Absent: the sandbox if there is one, else the last checkpoint. */
      at?: 'workspace' | 'sealed' | 'base'
    } }
    answer: WorkspaceNodeEnvelope
  }
  /** Read a part of a file of a workspace. Returns at most 1 MiB from `offset` on. (First-party: it may change in any release.) */
  getWorkspaceContent: {
    input: { sessionId: string; query?: {
      /** Below `/workspace`, or absolute as in the sandbox; absent: the workspace itself. */
      path?: string
      /** Absent: the sandbox if there is one, else the last checkpoint. */
      at?: 'workspace' | 'sealed' | 'base'
      /** The first byte. */
      offset?: number
    } }
    answer: Response
  }
  /** List the ports on which a sandbox listens. Starts nothing and renews no lease. A sandbox at rest tells no ports. (First-party: it may change in any release.) */
  listPorts: {
    input: { sessionId: string }
    answer: PortList
  }
  /** Open a preview of a port. Gives a URL that opens the preview once within 60 seconds, at a host of its own. The browser that opened it may use it for twelve hours at most; it ends with the sandbox and with the person's sign-in. (First-party: it may change in any release.) */
  openPortPreview: {
    input: { sessionId: string; port: string }
    answer: PortPreview
  }
  /** End the previews of a port. Ends them for everybody. Repeating the request has no further effect. (First-party: it may change in any release.) */
  endPortPreviews: {
    input: { sessionId: string; port: string }
    answer: undefined
  }
  /** List the browsers that are pushed to. The membership's own, and the key that a browser subscribes with. (First-party: it may change in any release.) */
  listPushSubscriptions: {
    input: Record<never, never>
    answer: PushSubscriptionList
  }
  /** Push to a browser. Lasts until it is deleted, the push service ends it, the sign-in or the membership ends, or the browser has not repeated it for thirty days. A membership has at most 20; the one that was not repeated for the longest time gives way. (First-party: it may change in any release.) */
  putPushSubscription: {
    input: { subscriptionId?: string; body: PutPushSubscription }
    answer: PushSubscriptionEnvelope
  }
  /** Push to a browser no longer (First-party: it may change in any release.) */
  deletePushSubscription: {
    input: { subscriptionId: string }
    answer: undefined
  }
  /** Push a test to a browser (First-party: it may change in any release.) */
  testPushSubscription: {
    input: { subscriptionId: string }
    answer: undefined
  }
  /** Report the use of models. Sums the requests that reached a provider, by default of the last 30 days. `from` and `to` are days of UTC, both included, at most 366. (First-party: it may change in any release.) */
  getUsage: {
    input: { query?: {
      by?: 'day' | 'model' | 'person' | 'repository' | 'trigger' | 'session'
      /** Whose usage counts. Only administrators read that of their organization. */
      whose?: 'me' | 'organization'
      /** A day of UTC. */
      from?: string
      /** A day of UTC. */
      to?: string
    } }
    answer: UsageReport
  }
  /** Export the use of models. The groups of `getUsage` for each day, in one line each, with a line of titles. Nothing is left out. (First-party: it may change in any release.) */
  exportUsage: {
    input: { query?: {
      by?: 'day' | 'model' | 'person' | 'repository' | 'trigger' | 'session'
      /** Whose usage counts. Only administrators read that of their organization. */
      whose?: 'me' | 'organization'
      /** A day of UTC. */
      from?: string
      /** A day of UTC. */
      to?: string
    } }
    answer: Response
  }
  /** Search the audit log. As `listAudit`, with more filters. `from` and `to` are days of UTC, both included. (First-party: it may change in any release.) */
  readAudit: {
    input: { query?: {
      /** Largest number of items in the page. */
      limit?: number
      /** `nextCursor` of the previous page. */
      cursor?: string
      /** Id of a person, an app or an installation; or a kind, such as `operator`. */
      actor?: string
      /** An action, or the part of actions before the dot, such as `member`. */
      action?: string
      /** Part of the target, or of its name as it is now, in either case. */
      target?: string
      /** A day of UTC. */
      from?: string
      /** A day of UTC. */
      to?: string
    } }
    answer: AuditEntryPage
    item: AuditEntryPage['entries'][number]
  }
  /** List what the audit log can be filtered by (First-party: it may change in any release.) */
  getAuditFacets: {
    input: Record<never, never>
    answer: AuditFacets
  }
  /** Export the audit log. Streams every entry that `readAudit` would list, one JSON object a line, newest first. The log tells who exported it. (First-party: it may change in any release.) */
  exportAudit: {
    input: { query?: {
      /** Id of a person, an app or an installation; or a kind, such as `operator`. */
      actor?: string
      /** An action, or the part of actions before the dot, such as `member`. */
      action?: string
      /** Part of the target, or of its name as it is now, in either case. */
      target?: string
      /** A day of UTC. */
      from?: string
      /** A day of UTC. */
      to?: string
    } }
    answer: Response
  }
  /** Read whether the service works for the organization now (First-party: it may change in any release.) */
  getHealth: {
    input: Record<never, never>
    answer: Health
  }
  /** Read the organization's settings (First-party: it may change in any release.) */
  getOrganizationSettings: {
    input: Record<never, never>
    answer: OrganizationSettings
  }
  /** Set budgets of the organization, its people and its installations, and who its commits are by. What is absent stays as it is. Budgets only tighten what the operator allows. What was spent in the current day and month counts. The bounds of a Run hold for Runs that start later. The choice for commits holds for Publications whose commit is not made yet. (First-party: it may change in any release.) */
  updateOrganizationSettings: {
    input: { body: UpdateOrganizationSettings }
    answer: OrganizationSettings
  }
  /** List models with their prices (First-party: it may change in any release.) */
  listPricedModels: {
    input: Record<never, never>
    answer: PricedModelList
  }
  /** Check the providers of models. Asks each provider whose models the organization may use for its list of models, or, if it has none, one of its models for a word, which counts in no budget. An answer stands for 30 seconds. (First-party: it may change in any release.) */
  checkModels: {
    input: Record<never, never>
    answer: ModelCheck
  }
  /** Read what the organization runs on (First-party: it may change in any release.) */
  getCompute: {
    input: Record<never, never>
    answer: Compute
  }
  /** Set what the organization runs on. With `own_hosts`, sandboxes that rest on other hosts are given back, and Runs that have begun there end there. While no own host can be used, new work is refused with `cloud_compute_not_configured` or `cloud_compute_outdated`. (First-party: it may change in any release.) */
  updateCompute: {
    input: { body: UpdateCompute }
    answer: Compute
  }
  /** Admit a host of the organization. The host dials the service with `berth host` and its token, and gets sandboxes of the organization alone. (First-party: it may change in any release.) */
  admitHost: {
    input: { body: AdmitHost }
    answer: AdmittedHost
  }
  /** Cordon, drain or open a host of the organization (First-party: it may change in any release.) */
  markHost: {
    input: { hostId: string; body: MarkHost }
    answer: OwnHostEnvelope
  }
  /** Declare a host of the organization lost. It is gone for good, and its sandboxes with it: its Sessions go on elsewhere at once, from their checkpoints. A host that was heard of within the last minute is refused. (First-party: it may change in any release.) */
  loseHost: {
    input: { hostId: string }
    answer: OwnHostEnvelope
  }
  /** Remove a host of the organization. Its token admits nobody any more. It must not hold sandboxes. (First-party: it may change in any release.) */
  removeHost: {
    input: { hostId: string }
    answer: undefined
  }
  /** Open a terminal in the workspace. Gives a ticket that opens the terminal's WebSocket once within 30 seconds. It is bound to the person, the Session and the console's origin. The workspace must be attached; `restoreWorkspace` brings it back. With `terminalId` the ticket is for a terminal that is there, whose last output comes again. With `previewMinutes` the sandbox runs for that time, but not past the end of its lease, and not on a machine that is being drained; `listPorts` tells how the preview goes. (First-party: it may change in any release.) */
  openTerminal: {
    input: { sessionId: string; body: OpenTerminal }
    answer: TerminalTicket
  }
  /** End a terminal. Ends its shell with everything that runs on the terminal. A Session's preview may be ended by everybody who could start it. (First-party: it may change in any release.) */
  endTerminal: {
    input: { terminalId: string }
    answer: undefined
  }
  /** Use Berth from an agent. The streamable HTTP transport of the Model Context Protocol, without sessions: each request is one JSON-RPC message, and the response is JSON, or a stream of server-sent events that ends with the answer. Tools act with the bearer of the request, and need what the operations behind them need. If the protocol itself refuses a request, such as one for a version of it that is not known, the answer is 400 or 404 with an error of JSON-RPC alone, as the protocol demands: its `error` is an object, not a code. */
  callTools: {
    input: { body: {
      jsonrpc: '2.0'
      method: string
      id?: unknown
      params?: unknown
    } }
    answer: Response
  }
  /** List triggers. Lists the triggers of the installation by name, or, for a person, those of all installations of the organization. An installation has at most 100. */
  listTriggers: {
    input: Record<never, never>
    answer: {
      triggers: Trigger[]
    }
  }
  /** Read a trigger */
  getTrigger: {
    input: { triggerId: string }
    answer: {
      trigger: Trigger
    }
  }
  /** Create or replace a trigger. Writes the whole trigger under an id that the caller chooses. A schedule that has changed counts from now on. Its Sessions are the installation's, which must be allowed to create some. */
  putTrigger: {
    input: { triggerId?: string; body: PutTrigger }
    answer: {
      trigger: Trigger
    }
  }
  /** Delete a trigger. Its Sessions stay; deliveries that still wait are dropped. Idempotent. */
  deleteTrigger: {
    input: { triggerId: string }
    answer: undefined
  }
  /** List deliveries of a trigger. Lists the latest deliveries, newest first. Those that have ended are kept for 30 days. */
  listTriggerDeliveries: {
    input: { triggerId: string; query?: {
      /** Largest number of items in the page. */
      limit?: number
    } }
    answer: {
      deliveries: TriggerDelivery[]
    }
  }
  /** Fire a trigger. Takes a delivery under the id that its sender gave it, and makes one Session of it, however often it is repeated. The Session is made within seconds of the answer. */
  putTriggerDelivery: {
    input: { triggerId: string; key: string; body: PutTriggerDelivery }
    answer: {
      delivery: TriggerDelivery
    }
  }
  /** Replace the secret of a trigger. Makes a secret with which other systems sign what they post, or takes one, and shows it this once. The one before stays good for a while. */
  replaceTriggerSecret: {
    input: { triggerId: string; body: ReplaceTriggerSecret }
    answer: TriggerSecret
  }
  /** Post to a trigger. The address of a trigger for other systems, which sign the body by the scheme of the trigger. One key makes one Turn, however often it is posted. The answer to anything that is not signed is the same as if there were no such hook. It takes a signature in place of a bearer, so it lies outside `/v1`; the address below `/v1` that triggers were given before answers as well. */
  receiveHook: {
    input: { hookId: string; body: HookBody }
    answer: HookAnswer
  }
  /** Register a webhook endpoint. The endpoint gets the Events of these families that are appended from now on to Sessions of the installation. An installation has at most five endpoints. */
  registerWebhook: {
    input: { appSlug: string; installationId: string; body: RegisterWebhook }
    answer: RegisteredWebhook
  }
  /** List an installation's webhook endpoints. Lists endpoints in the order of their registration, without their secrets. */
  listWebhooks: {
    input: { appSlug: string; installationId: string }
    answer: WebhookEndpointList
  }
  /** Delete a webhook endpoint. Ends its deliveries; an attempt under way may still arrive. Deleting an endpoint again changes nothing. */
  deleteWebhook: {
    input: { appSlug: string; installationId: string; endpointId: string }
    answer: undefined
  }
  /** List an endpoint's deliveries. The newest first. Deliveries that succeeded are kept for 7 days, and those that failed for 30. */
  listWebhookDeliveries: {
    input: { appSlug: string; installationId: string; endpointId: string; query?: {
      /** Largest number of items in the page. */
      limit?: number
      /** `nextCursor` of the previous page. */
      cursor?: string
      status?: 'pending' | 'succeeded' | 'failed'
    } }
    answer: WebhookDeliveryPage
    item: WebhookDeliveryPage['deliveries'][number]
  }
  /** Send a delivery again. Gives the delivery six new attempts, the first at once. A delivery under way stays as it is. */
  redeliverWebhook: {
    input: { appSlug: string; installationId: string; endpointId: string; deliveryId: string }
    answer: WebhookDeliveryEnvelope
  }
  /** Send a Session's Events again. Queues Events of the families of the endpoint, in order, at most 1 000. Those from before its registration are sent too. */
  replayWebhook: {
    input: { appSlug: string; installationId: string; endpointId: string; body: ReplayWebhook }
    answer: ReplayedWebhook
  }
  /** Send a ping. Sends a signed `svc.webhook.ping`, which is in no log. */
  pingWebhook: {
    input: { appSlug: string; installationId: string; endpointId: string }
    answer: WebhookDeliveryEnvelope
  }
}
