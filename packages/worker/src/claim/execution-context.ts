import type { CheckpointLimits } from '@berth/core/checkpoints/limits.ts'
import type { Context } from '@berth/core/context.ts'
import type { DeliveryContext } from '@berth/core/delivery/delivery-context.ts'
import type { ExtensionSources } from '@berth/core/environments/extensions/find-extensions.ts'
import { networkOfLease } from '@berth/core/environments/lease-network.ts'
import type { Host } from '@berth/core/hosts/hosts.ts'
import type { RuntimeEntry } from '@berth/core/runtimes/catalog.ts'
import type { LeaseRow } from '@berth/core/sessions/leases/lease-sql.ts'
import type { OutputJudge } from '@berth/core/sessions/outputs/output-judge.ts'
import type { ProcessIdentity } from '@berth/platform/processes/process-sql.ts'
import type { ApprovalRule } from '@berth/platform/settings/approval-rules.ts'
import type { SearchConfig } from '@berth/platform/settings/config-file.ts'
import type { RunBudgets } from '@berth/platform/settings/run-budgets.ts'
import type { WorkerLimits } from '@berth/platform/settings/worker.ts'
import type { PublicHosts, SandboxBounds, SandboxEgress } from '@berth/sandboxes/driver.ts'
import type { GatewayAccess } from './gateway-access.ts'
import type { GitAccess } from './git-access.ts'
import { edgeOf } from './lease-edge.ts'
import type { NetworkAccess } from './network-access.ts'
import { withSearch } from './web-search.ts'

/** Times and counts of execution: a worker's settings, and the times that follow from them. */
export interface ExecutionLimits extends WorkerLimits {
  /** Time between two checks of a supervisor and its Run when nothing wakes the worker. */
  readonly pulseMs: number
  /** A step before the agent begins that takes longer than this is told of. */
  readonly reportStepMs: number
  /** Longest time of all clones of an apply together. */
  readonly cloneMs: number
  readonly leaseIdleMs: number
  readonly leaseMaxMs: number
  /** Time between two checks of the queue and of lapsed claims when nothing wakes the worker. */
  readonly pollMs: number
  /** Time between two checks of leases and sandboxes when nothing wakes the sweeper. */
  readonly sweepMs: number
}

/** Everything that a worker needs besides the domains. */
export interface WorkerContext extends Context, Pick<DeliveryContext, 'hosts' | 'scratchDir' | 'sources'> {
  readonly extensions: ExtensionSources
  /** Judges the results that Turns ask for. */
  readonly outputs: OutputJudge
  readonly gateway: GatewayAccess
  /** Access of this worker's sandboxes to Git hosts. */
  readonly git: GitAccess
  /** Decides which hosts this worker's sandboxes reach, and writes down which they did. */
  readonly network: NetworkAccess
  /** The provider by which agents search the web; undefined: they do not. */
  readonly search: SearchConfig | undefined
  /** The public hosts that sandboxes may reach; undefined: none. */
  readonly publicHosts: PublicHosts | undefined
  readonly bounds: SandboxBounds
  readonly limits: ExecutionLimits
  /** Budgets of a Run, unless its organization has its own. */
  readonly budgets: RunBudgets
  /** Rules that answer approvals without asking people. */
  readonly approvalRules: readonly ApprovalRule[]
  /** Caps of the checkpoints of a workspace, a home and a conversation, and of an environment's cache. */
  readonly checkpointLimits: Readonly<Record<'workspace' | 'home' | 'conversation' | 'cache', CheckpointLimits>>
  /** The machine, the roles and the release of this process, for its row. */
  readonly self: Pick<ProcessIdentity, 'host' | 'roles' | 'release' | 'relayUrl'>
  /** Directory in which the workers of this machine find each other; absent: they do not. */
  readonly workersDir?: string
  /** Command of the supervisor inside a sandbox. */
  readonly supervisorCommand: readonly string[]
}

/** A worker at one host: everything that work on a lease of that host needs. */
export interface ExecutionContext extends WorkerContext, Omit<Host, 'id'> {
  /** Id of the host: only there can its sandboxes be reached. */
  readonly host: string
}

/**
 * Returns the context of work at a host.
 * @throws HostNotHeld
 */
export function atHost(context: WorkerContext, hostId: string): ExecutionContext {
  const { id, ...parts } = context.hosts.of(hostId)
  return { ...context, ...parts, host: id }
}

/** Returns what the sandbox of a lease may reach, and the secrets that its proxy puts in. */
export async function egressOf(
  context: ExecutionContext,
  lease: LeaseRow,
  { reach }: RuntimeEntry,
): Promise<SandboxEgress> {
  const { db, gateway, git, log, network, publicHosts, search } = context
  const service = withSearch({ search, log, isAtWork: () => gateway.isAtWork(lease.id) }, git.route(lease.id))
  const [edge, isLent] = await Promise.all([edgeOf(db, lease), isDecidedByHost(context, lease)])
  return { reach, publicHosts, gateway: gateway.route(lease.id), service, ...edge, ...network.route(lease), isLent }
}

/**
 * Returns whether connections of a sandbox elsewhere lead through this worker: its environment, or its organization, opens
 * only some hosts. Otherwise its host dials by itself, and what it reaches is not recorded.
 */
async function isDecidedByHost({ db, driver }: ExecutionContext, lease: LeaseRow): Promise<boolean> {
  if (driver.kind !== 'remote') return false
  const { mode, never } = await networkOfLease(db, lease)
  return mode !== 'open' || never.length > 0
}

/**
 * Returns the gateway's model for a Run: the Session's model when the Turn was admitted, else the deployment's default.
 * If the agent's format is not served for that default, it is the first model for which it is.
 */
export function modelOf(
  { defaultModel, models }: Pick<ExecutionContext, 'defaultModel' | 'models'>,
  run: { readonly model: string | null },
  runtime: Pick<RuntimeEntry, 'speaks'> | null,
): string | null {
  if (run.model !== null) return run.model
  const format = runtime?.speaks
  const fits = format === undefined || (defaultModel !== null && models.speaks(defaultModel, format))
  return fits ? defaultModel : models.firstThatSpeaks(format)
}
