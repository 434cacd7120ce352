/** Sizes and counts that a caller can exceed. "Characters" are Unicode code points. */
export const limits = {
  bodyBytes: 1_048_576,
  messageCharacters: 100_000,
  titleCharacters: 160,
  modelCharacters: 128,
  runtimeCharacters: 64,
  urlCharacters: 2048,
  interactionIdCharacters: 255,
  cursorCharacters: 1024,
  repositoryCursorCharacters: 512,
  turnsPerSession: 1_000,
  filesPerTurn: 20,
  fileNameCharacters: 255,
  mediaTypeCharacters: 255,
  pageSize: 100,
  toolNameCharacters: 128,
  /** Text of a pull request or of a merge commit, in UTF-8 bytes and in characters. */
  proseBytes: 65_536,
  /** A recording for transcription. */
  audioBytes: 20_971_520,
  /** An engine of a runtime release. */
  engineBytes: 67_108_864,
  /** The longest that one request keeps a sandbox running. */
  previewMinutes: 60,
  audioMs: { least: 100, most: 600_000 },
  /** Text of a message, an activity's output and each side of a diff in the log, in UTF-8 bytes. */
  eventTextBytes: 65_536,
} as const

/** Limits of the JSON result that a Turn may ask for, in UTF-8 bytes and in levels of arrays and objects. */
export const outputLimits = {
  schemaBytes: 32_768,
  schemaDepth: 32,
  /** Schemas that a value may be held against, a definition counted at each place that refers to it. */
  schemas: 1_000,
  patternCharacters: 512,
  valueBytes: 65_536,
  valueDepth: 64,
  /** Faults that an Event, and the agent, are told of. */
  issues: 20,
} as const

/** Limits of an agent's plan; the service cuts or drops the excess. */
export const planLimits = { entries: 50, entryCharacters: 500 } as const

/** Limits of an agent's commands in the background; the service cuts or drops the excess. */
export const backgroundLimits = { commands: 16, commandCharacters: 500 } as const

/** Limits of an Interaction; the service cuts or drops the excess of an agent. */
export const interactionLimits = {
  questions: 4,
  options: 20,
  questionCharacters: 2000,
  headerCharacters: 80,
  optionCharacters: 500,
  answerCharacters: 4000,
  planCharacters: 65_536,
  fieldCharacters: 128,
  patternCharacters: 128,
} as const

/** Limits of a Session's origin, in characters. */
export const originLimits = {
  tenantKey: 128,
  objectType: 64,
  objectId: 256,
  endUserId: 128,
  label: 256,
} as const

/** Limits of a Session's source, in characters. */
export const sourceLimits = {
  label: 512,
  baseBranch: 255,
  repositoryId: 64,
  kind: 64,
} as const

/** Limits of a Run's products; the service omits larger ones and never refuses the Run. */
export const artifactLimits = {
  presentedFileMaxBytes: 33_554_432,
  presentedFilesMaxBytes: 67_108_864,
  presentedFilesMax: 24,
  summaryMaxBytes: 100_000,
  conversationCheckpointMaxBytes: 268_435_456,
  conversationManifestMaxBytes: 16_384,
  workspaceCheckpointMaxBytes: 268_435_456,
  workspaceManifestMaxBytes: 65_536,
} as const

/** Limits of an environment. */
export const environmentLimits = {
  documentBytes: 262_144,
  nameCharacters: 64,
  descriptionCharacters: 500,
  setupCharacters: 65_536,
  previewCharacters: 4096,
  variables: 200,
  variableCharacters: 32_768,
  extensions: 20,
  cachePaths: 16,
  cachePathBytes: 1024,
  packages: 64,
  packageCharacters: 100,
  repositories: 20,
  checks: 16,
  checkNameCharacters: 64,
  checkSeconds: 3600,
  checkSecondsDefault: 600,
  checkPaths: 32,
  checkPathCharacters: 255,
  checkSecrets: 16,
  /** Verifications of a Session at once. */
  verifications: 4,
  /** Verifications of an organization at once: each holds a place of a worker. */
  verificationsOfOrganization: 10,
  /** A verification that has no sandbox after so long ends, and makes room for others. */
  verificationQueueSeconds: 1800,
  secrets: 100,
  secretBytes: 32_768,
  /** Of all secrets of one environment: a program starts with 2 MiB of environment at most. */
  secretsBytes: 524_288,
  /** Live environments of an organization. */
  live: 200,
  /** Trials of an organization at once. */
  trials: 5,
  revisionPage: 50,
  /** An archive as it is uploaded. */
  archiveBytes: 33_554_432,
  archiveEntries: 10_000,
  archiveExpandedBytes: 209_715_200,
  /** An archive's `extension.json`. */
  manifestBytes: 1_048_576,
  /** Archives of an organization; the same archive in two environments counts once. */
  archivesBytes: 1_073_741_824,
} as const

/** Limits of what environments say of the network. */
export const egressLimits = {
  /** Hosts of `network` in a document. */
  networkHosts: 100,
  /** Hosts that one secret may go to. */
  secretHosts: 16,
  paths: 32,
  pathCharacters: 512,
  headerCharacters: 64,
  formatCharacters: 256,
  userCharacters: 128,
  queryCharacters: 64,
  /** A value that goes into the head of a request, which servers bound. */
  valueBytes: 8192,
  /** Hosts that an organization closes. */
  neverHosts: 100,
  /** Secrets that an organization keeps for some environments. */
  policySecrets: 100,
  policyEnvironments: 50,
} as const

/** Limits of follow-ups. */
export const followUpLimits = {
  attempts: 20,
  days: 30,
  /** Turns that its resource lists. */
  history: 20,
  /** End of what the failed checks of one event printed, in UTF-8 bytes. */
  logBytes: 65_536,
} as const

/** Page sizes if the caller sets no `limit`. */
export const defaultPageSize = {
  sessions: 50,
  turns: 100,
  events: 100,
  artifacts: 100,
  publications: 50,
  merges: 50,
  pullRequests: 50,
  repositories: 50,
  environments: 50,
  environmentRevisions: 20,
} as const

/** Limits of triggers. */
export const triggerLimits = {
  /** Triggers of an installation. */
  triggers: 100,
  nameCharacters: 160,
  messageCharacters: 50_000,
  cronCharacters: 100,
  timeZoneCharacters: 64,
  keyCharacters: 200,
  /** Deliveries on a page, by default. */
  deliveries: 50,
  /** Deliveries of an installation that wait for their Sessions. */
  waitingDeliveries: 1_000,
  /** Path of a field, with its dots. */
  fieldCharacters: 200,
  threadCharacters: 200,
  /** Fields of which the first that is there names the thread. */
  threadFields: 4,
  conditions: 10,
  /** Repositories that a trigger names. */
  repositories: 100,
  secretCharacters: 200,
  /** Longest time for which the secret before is good as well. */
  overlapSeconds: 7 * 24 * 3600,
} as const
