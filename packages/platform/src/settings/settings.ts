import { resolve } from 'node:path'
import { StartError } from '../kit/start-error.ts'
import type { TraceDestination } from '../telemetry/open-traces.ts'
import { type AccountSettings, readAccounts } from './accounts.ts'
import { type BlobSettings, readBlobs } from './blob-store.ts'
import type { Config } from './config-file.ts'
import { type ConsoleSettings, readConsole } from './console.ts'
import { type DatabaseSettings, readDatabase } from './database.ts'
import { type DeliverySettings, readDelivery } from './delivery.ts'
import { type Declaration, Environment } from './environment.ts'
import { type FarHostSettings, readFarHost, readHostsPort } from './far-host.ts'
import { defaults, type Fixed } from './fixed.ts'
import { type GatewaySettings, readGateway } from './gateway.ts'
import { type IdentitySettings, readIdentity } from './identity.ts'
import { type KubernetesSettings, readKubernetes } from './kubernetes.ts'
import { type LeaseSettings, readLeases } from './leases.ts'
import { type LimitSettings, readLimits } from './limits.ts'
import {
  type HttpSettings,
  type ListenerSettings,
  readAuthUrl,
  readHttp,
  readListener,
  readUrls,
  type UrlSettings,
  urlsOn,
} from './listener.ts'
import { type LoggingSettings, readLogging } from './logging.ts'
import { readMasterKey } from './master-key.ts'
import { readConfig, type SettingsFiles } from './read-config.ts'
import { type RelaySettings, readRelay, requireRelayAddress } from './relay.ts'
import { type RetentionSettings, readRetention } from './retention.ts'
import { type Role, readRoles } from './roles.ts'
import { type ComputeSettings, readCompute, readSandboxes, type SandboxSettings } from './sandboxes.ts'
import { readStreams, type StreamSettings } from './streams.ts'
import { readTraces } from './traces.ts'
import { readWebhooks, type WebhookSettings } from './webhooks.ts'
import { readWorker, type WorkerSettings } from './worker.ts'

/**
 * Every decision of the operator, read once; nothing else reads the environment. Each group has a file beside this one,
 * which names, describes and checks its settings. Times are in milliseconds, whatever unit the environment uses.
 */
export interface Settings {
  readonly dataDir: string
  readonly roles: ReadonlySet<Role>
  readonly production: boolean
  readonly masterKey: Buffer | undefined
  readonly compute: ComputeSettings
  readonly config: Config
  readonly listener: ListenerSettings
  readonly urls: UrlSettings
  readonly http: HttpSettings
  readonly database: DatabaseSettings
  readonly blobs: BlobSettings
  readonly logging: LoggingSettings
  /** Undefined: this process sends no traces. */
  readonly traces: TraceDestination | undefined
  readonly limits: LimitSettings
  readonly gateway: GatewaySettings
  readonly leases: LeaseSettings
  readonly retention: RetentionSettings
  readonly worker: WorkerSettings
  readonly delivery: DeliverySettings
  readonly sandboxes: SandboxSettings
  readonly streams: StreamSettings
  readonly accounts: AccountSettings
  readonly console: ConsoleSettings
  readonly webhooks: WebhookSettings
  readonly identity: IdentitySettings
  /** Undefined: this process takes no hosts. */
  readonly hostsPort: number | undefined
  readonly relay: RelaySettings
  /** Undefined: this process makes no pods. */
  readonly kubernetes: KubernetesSettings | undefined
  /** Only for `berth host`. */
  readonly farHost: FarHostSettings
}

type Variables = Readonly<Record<string, string | undefined>>

/**
 * Reads the settings.
 * @param variables the environment
 * @param readFile returns the text of a file, or undefined if there is none
 * @param isOpen returns true if others than its owner may read a file
 * @param fixed other values than the defaults of those that no operator sets, for tests
 * @throws StartError that names the first wrong or unknown setting
 */
export function loadSettings(
  variables: Variables,
  readFile: SettingsFiles['readFile'],
  isOpen: SettingsFiles['isOpen'] = () => false,
  fixed: Partial<Fixed> = {},
): Settings {
  const environment = new Environment(variables)
  const settings = read(environment, variables, { readFile, isOpen }, { ...defaults, ...fixed })
  environment.refuseUnknown()
  requireConsistent(settings)
  return deepFreeze(settings)
}

/** Lists every setting with its meaning and default, in the order of reading, for the documentation. */
export function describeSettings(): readonly Declaration[] {
  const environment = new Environment({})
  read(environment, {}, { readFile: () => undefined, isOpen: () => false }, defaults)
  return environment.declarations
}

/** Returns the settings for the port that the listener got: URLs on its origin move with it. */
export function listeningOn(settings: Settings, port: number): Settings {
  return deepFreeze({
    ...settings,
    listener: { ...settings.listener, port },
    urls: urlsOn(settings.urls, settings.listener, port),
  })
}

/** The order of reading is the order of the table in `docs/settings.md`. */
function read(env: Environment, variables: Variables, files: SettingsFiles, fixed: Fixed): Settings {
  const dataDir = resolve(
    env.text(
      'BERTH_DATA_DIR',
      'Directory that keeps everything of this host: embedded database, blobs, keys, sandboxes, mirrors. Set it to a disk that lasts and is backed up.',
      './.berth',
      'a path',
    ) ?? '.berth',
  )
  const listener = readListener(env)
  const config = readConfig(env, dataDir, variables, files)
  const authUrl = readAuthUrl(env, listener)
  const gateway = readGateway(env, fixed)
  const roles = readRoles(env)
  const production = variables['NODE_ENV'] === 'production'
  return {
    dataDir,
    listener,
    config,
    gateway,
    urls: readUrls(env, listener, authUrl),
    roles,
    production,
    database: readDatabase(env),
    blobs: readBlobs(env, dataDir),
    masterKey: readMasterKey(env),
    compute: readCompute(env),
    http: readHttp(env),
    logging: readLogging(env),
    traces: readTraces(env),
    limits: readLimits(env, fixed),
    leases: readLeases(env, fixed),
    retention: readRetention(env),
    worker: readWorker(env, files.readFile, fixed),
    delivery: readDelivery(fixed),
    sandboxes: readSandboxes(env, config, fixed),
    streams: readStreams(fixed),
    accounts: readAccounts(env, fixed),
    console: readConsole(env),
    webhooks: readWebhooks(env, config),
    identity: readIdentity(env, { roles, production, fixed }),
    hostsPort: readHostsPort(env),
    relay: readRelay(env),
    kubernetes: readKubernetes(env, fixed),
    farHost: readFarHost(env),
  }
}

/** Checks rules that span several groups. */
function requireConsistent({
  compute,
  hostsPort,
  kubernetes,
  listener,
  production,
  relay,
  roles,
  urls,
  webhooks,
}: Settings): void {
  if (compute.kind === 'remote' && hostsPort === undefined && roles.has('worker')) {
    throw new StartError('BERTH_COMPUTE is remote: set BERTH_HOSTS_PORT, which hosts dial')
  }
  if (kubernetes !== undefined && hostsPort === undefined && roles.has('worker')) {
    throw new StartError('BERTH_KUBERNETES_IMAGE makes pods: set BERTH_HOSTS_PORT, which they dial')
  }
  if (roles.has('worker')) requireRelayAddress(relay, listener.host)
  if (!production) return
  if (webhooks.allow.length > 0) {
    throw new StartError(
      'webhooks.allow of the configuration file is for development: remove it when NODE_ENV is production',
    )
  }
  for (const [name, url] of [
    ['BERTH_BASE_URL', urls.baseUrl],
    ['BERTH_AUTH_URL', urls.authUrl],
    ['BERTH_CONSOLE_URL', urls.consoleUrl],
  ] as const) {
    if (!url.startsWith('https://')) throw new StartError(`${name} must be an https URL when NODE_ENV is production`)
  }
}

/** Freezes plain objects and arrays. A Buffer cannot be frozen, and a Set's type already forbids changes. */
function deepFreeze<T extends object>(value: T): T {
  for (const member of Object.values(value)) {
    const plain = Array.isArray(member) || Object.getPrototypeOf(Object(member)) === Object.prototype
    if (typeof member === 'object' && member !== null && plain) deepFreeze(member)
  }
  return Object.freeze(value)
}
