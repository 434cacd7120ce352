/** Sizes and counts a caller can run into (interface 8.2, 8.3, 8.4). "Characters" are Unicode code points. */
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
  /** Prose of a pull request or of a merge commit, in UTF-8 bytes; as many characters. */
  proseBytes: 65_536,
  /** A recording to transcribe. */
  audioBytes: 20_971_520,
  audioMs: { least: 100, most: 600_000 },
  /** Text of a message, an activity's output and each side of a diff in the log, in UTF-8 bytes. */
  eventTextBytes: 65_536,
} as const

/** What is shown of an Interaction at most; an agent's excess is cut or left out (interface 2.6, 8.3). */
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

/** Characters of the correlation metadata a Session carries (interface 2.3, 8.3). */
export const originLimits = {
  tenantKey: 128,
  objectType: 64,
  objectId: 256,
  endUserId: 128,
  label: 256,
} as const

/** Characters of the repository reference a Session starts from (interface 2.3, 8.3). */
export const sourceLimits = {
  label: 512,
  baseBranch: 255,
  repositoryId: 64,
  kind: 64,
} as const

/** What the server retains of a Run's products; anything larger is omitted, never refused (interface 8.5). */
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

/** Page sizes when the caller names none (interface 8.4). */
export const defaultPageSize = {
  sessions: 50,
  turns: 100,
  events: 100,
  artifacts: 100,
  publications: 50,
  merges: 50,
  repositories: 50,
} as const
