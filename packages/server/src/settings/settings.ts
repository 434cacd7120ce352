import { isIP } from 'node:net'
import { resolve } from 'node:path'
import ipaddr from 'ipaddr.js'
import { StartError } from '../kit/start-error.ts'
import { parseMasterKey } from '../storage/master-key.ts'
import { type ApprovalRule, parseApprovalRules } from './approval-rules.ts'
import { type BlobStore, readBlobStore } from './blob-store.ts'
import { type BodySettings, readBodies } from './bodies.ts'
import { type Config, parseConfig } from './config-file.ts'
import { type Egress, readEgress } from './egress.ts'
import { type Declaration, Environment, longestSeconds } from './environment.ts'
import { type GatewaySettings, readGateway } from './gateway.ts'
import type { RunBudgets } from './run-budgets.ts'
import { readBudgets, readEventBudget } from './run-budgets.ts'
import { isLoopback, originOf, parseWebUrl } from './web-url.ts'

const roles = ['api', 'account', 'gateway', 'worker'] as const
const logLevels = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const
const gibibyte = 1024 ** 3

export type Role = (typeof roles)[number]

/** A token bucket. */
export interface RateLimit {
  readonly burst: number
  readonly perMinute: number
}

/** Everything that an operator decides, read once; nothing else looks at the environment. */
export interface Settings {
  readonly dataDir: string
  readonly host: string
  /** 0 lets the system choose; see {@link listeningOn}. */
  readonly port: number
  readonly baseUrl: string
  readonly authUrl: string
  readonly consoleUrl: string
  /** Where workers take what sandboxes ask of the gateway. */
  readonly gatewayUrl: string
  readonly roles: ReadonlySet<Role>
  readonly production: boolean
  /** Whether the listener is out of other machines' reach; a development tenant is made only there. */
  readonly loopback: boolean
  /** Absent: an embedded PostgreSQL below the data directory. */
  readonly databaseUrl: string | undefined
  /** The role that owns the schema, if that is not the one of `databaseUrl`. */
  readonly migrationUrl: string | undefined
  readonly databaseConnections: number
  readonly blobs: BlobStore
  /** A blob that no row names is swept after this long, no sooner. */
  readonly blobGraceSeconds: number
  readonly masterKey: Buffer | undefined
  readonly compute: 'bubblewrap'
  readonly release: string | undefined
  /** Addresses and ranges of proxies in front, which are believed in what they say of a client's address. */
  readonly trustedProxies: readonly string[]
  readonly logLevel: (typeof logLevels)[number]
  /** Absent: no metrics are served. 0 lets the system choose. */
  readonly metricsPort: number | undefined
  readonly rate: RateLimit
  readonly authRate: RateLimit
  readonly bodies: BodySettings
  readonly gateway: GatewaySettings
  readonly lease: { readonly idleSeconds: number; readonly maxSeconds: number }
  /** A caller waits this long for a workspace that is being brought up. */
  readonly workspaceWaitSeconds: number
  readonly execution: {
    readonly fenceSeconds: number
    readonly maxAttempts: number
    readonly maxHandovers: number
    readonly provisionSeconds: number
    readonly agentStartSeconds: number
    readonly runSeconds: number
    readonly cancelGraceSeconds: number
    readonly approvalSeconds: number
    readonly approvalRules: readonly ApprovalRule[]
    readonly parkSeconds: number
    readonly pingSeconds: number
    readonly hostLostSeconds: number
    readonly concurrency: number
    /** What a Run may use, unless its organization has budgets of its own. */
    readonly budgets: RunBudgets
    /** What the agent of a Run may put into the log. */
    readonly eventBudget: { readonly events: number; readonly bytes: number }
  }
  readonly delivery: {
    readonly reviewWaitSeconds: number
    readonly publicationSeconds: number
    readonly mergeWaitSeconds: number
    readonly mergeCheckSeconds: number
  }
  /** How far sandboxes reach the public network; undefined: not at all. */
  readonly egress: Egress | undefined
  /** Of one mirror of a repository. */
  readonly mirrorBytes: number
  /** Of all helper programs of this process together. */
  readonly helpers: { readonly memoryBytes: number; readonly cpus: number }
  readonly sandbox: {
    readonly memoryBytes: number
    readonly processes: number
    readonly cpus: number
    readonly fileSizeBytes: number
    readonly diskBytes: number
  }
  readonly streams: {
    readonly perAuthority: number
    readonly perProcess: number
    readonly minSeconds: number
    readonly maxSeconds: number
    readonly authoritySeconds: number
  }
  readonly config: Config
}

type Variables = Readonly<Record<string, string | undefined>>

/**
 * Reads the settings.
 * @param variables the environment
 * @param readFile answers a file's text, or undefined when there is none
 * @param isOpen answers whether others than its owner may read a file
 * @throws StartError naming the first setting that is wrong or unknown
 */
export function loadSettings(
  variables: Variables,
  readFile: (path: string) => string | undefined,
  isOpen: (path: string) => boolean = () => false,
): Settings {
  const environment = new Environment(variables)
  const settings = read(environment, variables, readFile, isOpen)
  environment.refuseUnknown()
  requireConsistent(settings)
  return deepFreeze(settings)
}

/** Every setting with its meaning and default, in the order of reading; for the documentation. */
export function describeSettings(): readonly Declaration[] {
  const environment = new Environment({})
  read(
    environment,
    {},
    () => undefined,
    () => false,
  )
  return environment.declarations
}

/** The settings once the listener has its port: URLs that were to be its origin become that. */
export function listeningOn(settings: Settings, port: number): Settings {
  const before = originOf(settings.host, settings.port)
  const after = originOf(settings.host, port)
  const move = (url: string): string => (url === before ? after : url)
  return Object.freeze({
    ...settings,
    port,
    baseUrl: move(settings.baseUrl),
    authUrl: move(settings.authUrl),
    consoleUrl: move(settings.consoleUrl),
    gatewayUrl: move(settings.gatewayUrl),
  })
}

function read(
  env: Environment,
  variables: Variables,
  readFile: (path: string) => string | undefined,
  isOpen: (path: string) => boolean,
): Settings {
  const dataDir = resolve(
    env.text('BERTH_DATA_DIR', 'Directory of everything the embedded default keeps.', './.berth') ?? '.berth',
  )
  const host = env.text('BERTH_HOST', 'Address that the service listens on.', '127.0.0.1') ?? '127.0.0.1'
  const port = env.integer('BERTH_PORT', 4100, 'Port that the service listens on; 0 takes a free one.', {
    least: 0,
    most: 65_535,
  })
  const url = (name: string, meaning: string, fallback?: readonly [url: string, words: string]): string => {
    const [otherwise, words] = fallback ?? [originOf(host, port), "the listener's origin"]
    return env.parsed(name, meaning, words, parseWebUrl, 'an http or https URL without query') ?? otherwise
  }
  const config = readConfig(env, dataDir, variables, readFile, isOpen)
  const authUrl = url('BERTH_AUTH_URL', 'URL that clients reach the account service and the gateway at.')
  const gateway = readGateway(env)
  return {
    dataDir,
    host,
    port,
    baseUrl: url('BERTH_BASE_URL', 'URL that clients reach the API at.'),
    authUrl,
    consoleUrl: url('BERTH_CONSOLE_URL', 'URL that `sessionUrl` begins with.'),
    gatewayUrl: url(
      'BERTH_GATEWAY_URL',
      "URL that workers reach the gateway at, on behalf of their sandboxes' agents; they look there when they start.",
      [authUrl, '`BERTH_AUTH_URL`'],
    ),
    roles: readRoles(env),
    production: variables.NODE_ENV === 'production',
    loopback: isLoopback(host),
    databaseUrl: env.parsed(
      'DATABASE_URL',
      'A PostgreSQL server, version 15 or newer.',
      'an embedded PostgreSQL',
      text => (/^postgres(ql)?:\/\//.test(text) ? text : undefined),
      'a postgres:// URL',
    ),
    migrationUrl: env.parsed(
      'BERTH_MIGRATION_URL',
      'The same database by a role that owns its schema, which migrates and grants; the role of `DATABASE_URL` then owns nothing ([operations](operations.md)).',
      'the role of `DATABASE_URL` migrates',
      text => (/^postgres(ql)?:\/\//.test(text) ? text : undefined),
      'a postgres:// URL',
    ),
    databaseConnections: env.integer('BERTH_DATABASE_CONNECTIONS', 20, 'Database connections of this process at most.'),
    blobs: readBlobStore(env, dataDir),
    blobGraceSeconds: env.integer(
      'BERTH_BLOB_GRACE_SECONDS',
      86_400,
      'A blob that nothing names is set aside after this long, and discarded as long after that.',
      { least: 60, most: longestSeconds },
    ),
    masterKey: env.parsed(
      'BERTH_MASTER_KEY',
      'Key that seals secrets at rest: 32 bytes in base64 or hexadecimal digits; the same for all processes of a database ([operations](operations.md)).',
      '`master.key` in the data directory, made once',
      parseMasterKey,
      '32 bytes in base64 or hexadecimal digits',
    ),
    compute: env.oneOf('BERTH_COMPUTE', 'bubblewrap', 'What makes sandboxes.', ['bubblewrap']),
    release: env.text('BERTH_RELEASE', 'Shown as `info.x-svc-release` in the OpenAPI document.', 'absent'),
    trustedProxies:
      env.parsed(
        'BERTH_TRUSTED_PROXIES',
        "Addresses and ranges of proxies in front, separated by commas: a client's address is the last one of `X-Forwarded-For` that is none of theirs.",
        'none',
        readRanges,
        'a list of IP addresses and ranges (10.0.0.0/8)',
      ) ?? [],
    logLevel: env.oneOf('BERTH_LOG_LEVEL', 'info', 'Least severity that is logged.', logLevels),
    metricsPort: env.parsed(
      'BERTH_METRICS_PORT',
      'Loopback port that serves `GET /metrics`; 0 takes a free one.',
      'no metrics',
      text => (/^\d{1,5}$/.test(text) && Number(text) <= 65_535 ? Number(text) : undefined),
      'a port from 0 to 65535',
    ),
    rate: {
      burst: env.integer('BERTH_RATE_BURST', 120, 'Requests at once, for each installation or membership.'),
      perMinute: env.integer('BERTH_RATE_PER_MINUTE', 600, 'Requests a minute, for each installation or membership.'),
    },
    authRate: {
      burst: env.integer(
        'BERTH_AUTH_RATE_BURST',
        600,
        'Requests at once, for each address; of the gateway, those without a valid credential.',
      ),
      perMinute: env.integer(
        'BERTH_AUTH_RATE_PER_MINUTE',
        3000,
        'Requests a minute, for each address; of the gateway, those without a valid credential.',
      ),
    },
    gateway,
    bodies: readBodies(env, gateway.bodyBytes),
    lease: {
      idleSeconds: env.seconds('BERTH_LEASE_IDLE_SECONDS', 900, 'A sandbox is given up after this long without a Run.'),
      maxSeconds: env.seconds('BERTH_LEASE_MAX_SECONDS', 14_400, 'A sandbox is given up after this long in any case.'),
    },
    workspaceWaitSeconds: env.seconds(
      'BERTH_WORKSPACE_WAIT_SECONDS',
      30,
      'A caller that wants a workspace back waits for it this long at most.',
    ),
    execution: {
      fenceSeconds: env.seconds('BERTH_FENCE_SECONDS', 4, "A worker's claim on a Run, renewed four times as often."),
      maxAttempts: env.integer(
        'BERTH_MAX_ATTEMPTS',
        3,
        'Attempts at a Run whose agent was lost before it did anything.',
      ),
      maxHandovers: env.integer(
        'BERTH_MAX_HANDOVERS',
        5,
        'Times that a Run may lose its worker before it is given up.',
      ),
      provisionSeconds: env.seconds('BERTH_PROVISION_SECONDS', 60, 'A sandbox is made within this long, or not.'),
      agentStartSeconds: env.seconds('BERTH_AGENT_START_SECONDS', 60, 'An agent answers within this long, or not.'),
      runSeconds: env.seconds('BERTH_RUN_SECONDS', 14_400, 'A Run takes at most this long.'),
      cancelGraceSeconds: env.seconds(
        'BERTH_CANCEL_GRACE_SECONDS',
        10,
        'A cancelled agent that goes on is killed then.',
      ),
      parkSeconds: env.seconds(
        'BERTH_PARK_SECONDS',
        600,
        'A native agent that has waited for an answer this long is sealed and gives its sandbox back.',
      ),
      approvalSeconds: env.seconds('BERTH_APPROVAL_SECONDS', 600, 'An approval is decided within this long, or not.'),
      approvalRules: readApprovalRules(env, readFile),
      pingSeconds: env.seconds('BERTH_PING_SECONDS', 10, 'A sandbox that is silent for this long counts as frozen.'),
      hostLostSeconds: env.integer(
        'BERTH_HOST_LOST_SECONDS',
        300,
        'Seconds after which a host that is not heard of is gone: its Runs go on elsewhere, from what was sealed.',
        { least: 120, most: 86_400 },
      ),
      concurrency: env.integer('BERTH_WORKER_CONCURRENCY', 8, 'Runs that a worker executes at once.'),
      budgets: readBudgets(env),
      eventBudget: readEventBudget(env),
    },
    delivery: {
      reviewWaitSeconds: env.seconds('BERTH_REVIEW_WAIT_SECONDS', 60, 'A caller waits this long for a review at most.'),
      publicationSeconds: env.seconds(
        'BERTH_PUBLICATION_SECONDS',
        600,
        'A publication or a merge whose Git host does not answer has failed after this long.',
      ),
      mergeWaitSeconds: env.seconds(
        'BERTH_MERGE_WAIT_SECONDS',
        86_400,
        'A merge waits this long at most for its pull request to become ready.',
      ),
      mergeCheckSeconds: env.seconds(
        'BERTH_MERGE_CHECK_SECONDS',
        5,
        'Before a merge that waits is looked at again; doubled each time, up to five minutes.',
      ),
    },
    egress: readEgress(env, config),
    sandbox: {
      memoryBytes: env.integer('BERTH_SANDBOX_MEMORY_BYTES', 4 * gibibyte, 'Memory of one sandbox.', {
        least: 128 * 1024 ** 2,
      }),
      processes: env.integer('BERTH_SANDBOX_PROCESSES', 512, 'Processes and threads of one sandbox.', { least: 32 }),
      cpus: env.number('BERTH_SANDBOX_CPUS', 2, 'Processors of one sandbox; may be a fraction.', {
        least: 0.1,
        most: 1024,
      }),
      fileSizeBytes: env.integer('BERTH_SANDBOX_FILE_BYTES', 4 * gibibyte, 'Size of one file in a sandbox.'),
      diskBytes: env.integer('BERTH_SANDBOX_DISK_BYTES', 10 * gibibyte, 'Files of one sandbox altogether.'),
    },
    mirrorBytes: env.integer(
      'BERTH_MIRROR_BYTES',
      10 * gibibyte,
      'Size of one mirror of a repository; a larger repository is refused.',
      { least: 1024 ** 2 },
    ),
    helpers: {
      memoryBytes: env.integer(
        'BERTH_HELPER_MEMORY_BYTES',
        4 * gibibyte,
        'Memory of all helper programs of this process: git, seals, restores, decoders.',
        { least: gibibyte },
      ),
      cpus: env.number(
        'BERTH_HELPER_CPUS',
        2,
        'Processors of all helper programs of this process; may be a fraction.',
        {
          least: 0.1,
          most: 1024,
        },
      ),
    },
    streams: {
      perAuthority: env.integer(
        'BERTH_STREAMS_PER_AUTHORITY',
        64,
        'Event streams open at once, for each principal, over all processes.',
      ),
      perProcess: env.integer('BERTH_STREAMS_PER_PROCESS', 256, 'Event streams open at once in this process.'),
      minSeconds: env.seconds(
        'BERTH_STREAM_MIN_SECONDS',
        300,
        'Event streams are ended to be resumed, each at a random age: the least.',
      ),
      maxSeconds: env.seconds(
        'BERTH_STREAM_MAX_SECONDS',
        600,
        'Event streams are ended to be resumed, each at a random age: the most.',
      ),
      authoritySeconds: env.seconds(
        'BERTH_STREAM_AUTHORITY_SECONDS',
        10,
        'An open event stream ends within this long of the revocation of its credential.',
      ),
    },
    config,
  }
}

/** IP addresses and ranges of them; undefined where one is neither. */
function readRanges(text: string): readonly string[] | undefined {
  const ranges = text.split(',').map(range => range.trim())
  return ranges.every(range => isIP(range) !== 0 || ipaddr.isValidCIDR(range)) ? ranges : undefined
}

function readRoles(env: Environment): ReadonlySet<Role> {
  const parse = (text: string): ReadonlySet<Role> | undefined => {
    const named = text.split(',').map(name => roles.find(role => role === name.trim()))
    const known = named.filter(role => role !== undefined)
    return known.length === named.length ? new Set(known) : undefined
  }
  const meaning = 'Roles of this process, separated by commas.'
  return env.parsed('BERTH_ROLES', meaning, 'all', parse, `a list of ${roles.join(', ')}`) ?? new Set(roles)
}

function readConfig(
  env: Environment,
  dataDir: string,
  variables: Variables,
  readFile: (path: string) => string | undefined,
  isOpen: (path: string) => boolean,
): Config {
  const named = env.text(
    'BERTH_CONFIG',
    'JSON file of providers, models, runtimes and Git hosts.',
    '`berth.json` in the data directory, where it exists',
  )
  const path = resolve(named ?? resolve(dataDir, 'berth.json'))
  const text = readFile(path)
  if (text === undefined && named !== undefined)
    throw new StartError(`BERTH_CONFIG names ${path}, which does not exist`)
  const config = parseConfig(text ?? '{}', path, variables)
  const [place] = config.inlineSecrets
  if (place !== undefined && isOpen(path)) {
    throw new StartError(
      `${path} holds a secret (${place}) and is open to others: chmod 600 it, or write { "env": "NAME" } for the secret`,
    )
  }
  return config
}

function readApprovalRules(
  env: Environment,
  readFile: (path: string) => string | undefined,
): Settings['execution']['approvalRules'] {
  const named = env.text(
    'BERTH_APPROVAL_RULES',
    'JSON file of approvals that workers allow without people ([interactions](interactions.md)).',
    'people are asked',
  )
  if (named === undefined) return []
  const path = resolve(named)
  const text = readFile(path)
  if (text === undefined) throw new StartError(`BERTH_APPROVAL_RULES names ${path}, which does not exist`)
  return parseApprovalRules(text, path)
}

function requireConsistent(settings: Settings): void {
  const { bodies, gateway, lease, streams } = settings
  if (bodies.processBytes < 2 * bodies.callerBytes) {
    throw new StartError('BERTH_BODY_BYTES_PER_PROCESS must be at least twice BERTH_BODY_BYTES_PER_CALLER')
  }
  if (bodies.callerBytes < gateway.bodyBytes) {
    throw new StartError('BERTH_BODY_BYTES_PER_CALLER must not be below BERTH_GATEWAY_BODY_BYTES')
  }
  if (settings.migrationUrl !== undefined && settings.databaseUrl === undefined) {
    throw new StartError('BERTH_MIGRATION_URL needs DATABASE_URL, which names the role that the service works as')
  }
  if (lease.idleSeconds > lease.maxSeconds) {
    throw new StartError('BERTH_LEASE_IDLE_SECONDS must not be above BERTH_LEASE_MAX_SECONDS')
  }
  if (streams.minSeconds > streams.maxSeconds) {
    throw new StartError('BERTH_STREAM_MIN_SECONDS must not be above BERTH_STREAM_MAX_SECONDS')
  }
  if (!settings.production) return
  for (const [name, url] of [
    ['BERTH_BASE_URL', settings.baseUrl],
    ['BERTH_AUTH_URL', settings.authUrl],
    ['BERTH_CONSOLE_URL', settings.consoleUrl],
  ] as const) {
    if (!url.startsWith('https://')) throw new StartError(`${name} must be an https URL when NODE_ENV is production`)
  }
}

/** Freezes plain objects and arrays; a Buffer cannot be frozen, and a Set's type already forbids to change it. */
function deepFreeze<T extends object>(value: T): T {
  for (const member of Object.values(value)) {
    const plain = Array.isArray(member) || Object.getPrototypeOf(Object(member)) === Object.prototype
    if (typeof member === 'object' && member !== null && plain) deepFreeze(member)
  }
  return Object.freeze(value)
}
