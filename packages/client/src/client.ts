import type { CallOptions, Credential } from './call-options.ts'
import {
  type MergeOperations,
  mergeOperations,
  type PublicationOperations,
  publicationOperations,
  type RepositoryOperations,
  repositoryOperations,
} from './delivery-operations.ts'
import { type EnvironmentOperations, environmentOperations } from './environment-operations.ts'
import type { Discovery, Identity, RuntimeList } from './generated/types.ts'
import type { Hooks } from './hooks.ts'
import { type NextTurnOperations, nextTurnOperations } from './next-turn-operations.ts'
import { type OperationCalls, operationCalls } from './operation-calls.ts'
import {
  createSession,
  type EventOperations,
  eventOperations,
  type InteractionOperations,
  interactionOperations,
  type RunOperations,
  readCapabilities,
  readMe,
  readRuntimes,
  runOperations,
  type SessionOperations,
  sessionOperations,
  type TurnOperations,
  turnOperations,
} from './operations.ts'
import { defaultPlatform, type Platform } from './platform.ts'
import { defaultRetryPolicy, type RetryPolicy } from './retry.ts'
import { type TerminalOperations, terminalOperations } from './terminal-operations.ts'
import { Transport } from './transport.ts'
import { type TrialOperations, trialOperations } from './trial-operations.ts'

export interface ClientOptions {
  /** Origin of the service, with a path prefix if a proxy adds one. */
  readonly baseUrl: string | URL
  /** Origin of the account service, for the operations that it answers. Default: `baseUrl`. */
  readonly authUrl?: string | URL
  readonly credential: Credential
  /** Replaces parts of the platform, for example `fetch` in a test. */
  readonly platform?: Partial<Platform>
  readonly retry?: Partial<RetryPolicy>
  /** Limit for one attempt of one call, body included. Streams have a watchdog instead. Default 60 s. */
  readonly requestTimeoutMs?: number
  /** Called around each attempt, to log and trace. */
  readonly hooks?: Hooks
}

/** What people may do with the repositories that their organization is connected to. */
export interface CloudOperations {
  readonly repositories: RepositoryOperations
  readonly sessions: Pick<SessionOperations, 'create'>
  readonly terminals: TerminalOperations
  readonly nextTurns: NextTurnOperations
  readonly trials: TrialOperations
}

export interface BerthClient extends OperationCalls {
  readonly sessions: SessionOperations
  readonly turns: TurnOperations
  readonly runs: RunOperations
  readonly interactions: InteractionOperations
  readonly events: EventOperations
  readonly repositories: RepositoryOperations
  readonly publications: PublicationOperations
  readonly merges: MergeOperations
  readonly environments: EnvironmentOperations
  /** For installations; people have those of `cloud`. */
  readonly trials: TrialOperations
  /** For access tokens of people alone. */
  readonly cloud: CloudOperations
  capabilities(options?: CallOptions): Promise<Discovery>
  runtimes(options?: CallOptions): Promise<RuntimeList>
  /** Reads who the bearer is. The service answers to access tokens of people alone. */
  me(options?: CallOptions): Promise<Identity>
  /** The platform that this client uses. */
  readonly platform: Platform
}

/**
 * Creates a client of one deployment. It retries a call, within limits, after a 429, 502, 503 or 504 and after a broken
 * connection. Every write that it repeats carries an id chosen by the caller, so that is safe.
 *
 * @throws TypeError if `baseUrl` is not a URL
 */
export function createClient(options: ClientOptions): BerthClient {
  const platform = { ...defaultPlatform, ...options.platform }
  const transport = new Transport({
    baseUrl: new URL(options.baseUrl),
    credential: options.credential,
    platform,
    retry: { ...defaultRetryPolicy, ...options.retry },
    requestTimeoutMs: options.requestTimeoutMs ?? 60_000,
    hooks: options.hooks,
    ...(options.authUrl !== undefined && { authUrl: new URL(options.authUrl) }),
  })
  return {
    ...operationCalls(transport),
    sessions: sessionOperations(transport),
    turns: turnOperations(transport),
    runs: runOperations(transport),
    interactions: interactionOperations(transport),
    events: eventOperations(transport),
    repositories: repositoryOperations(transport),
    publications: publicationOperations(transport),
    merges: mergeOperations(transport),
    environments: environmentOperations(transport),
    trials: trialOperations(transport, 'v1'),
    cloud: {
      repositories: repositoryOperations(transport, 'cloud'),
      sessions: { create: createSession(transport, 'cloud') },
      terminals: terminalOperations(transport),
      nextTurns: nextTurnOperations(transport),
      trials: trialOperations(transport, 'cloud'),
    },
    capabilities: call => readCapabilities(transport, call),
    runtimes: call => readRuntimes(transport, call),
    me: call => readMe(transport, call),
    platform,
  }
}
