import type { CheckpointLimits } from '../../checkpoints/limits.ts'
import type { Context } from '../../context.ts'
import type { ExtensionSources } from '../../environments/extensions/find-extensions.ts'
import type { HostImages } from '../../environments/images/host-images.ts'
import type { Mirrors } from '../../repositories/mirrors.ts'
import type { PublicHosts, SandboxBounds, SandboxDriver } from '../../sandboxes/driver.ts'
import type { ApprovalRule } from '../../settings/approval-rules.ts'
import type { RunBudgets } from '../../settings/run-budgets.ts'
import type { WorkerLimits } from '../../settings/worker.ts'
import type { GatewayAccess } from './gateway-access.ts'
import type { GitAccess } from './git-access.ts'

/** Times and counts of execution: a worker's settings, and the times that follow from them. */
export interface ExecutionLimits extends WorkerLimits {
  /** Time between two checks of a supervisor and its Run when nothing wakes the worker. */
  readonly pulseMs: number
  /** Longest time of all clones of an apply together. */
  readonly cloneMs: number
  readonly leaseIdleMs: number
  readonly leaseMaxMs: number
  /** Time between two checks of the queue and of lapsed claims when nothing wakes the worker. */
  readonly pollMs: number
  /** Time between two checks of leases and sandboxes when nothing wakes the sweeper. */
  readonly sweepMs: number
}

/** Everything that the execution of Runs needs besides the domains. */
export interface ExecutionContext extends Context {
  readonly driver: SandboxDriver
  readonly extensions: ExtensionSources
  /** This host's mirrors of repositories. */
  readonly mirrors: Mirrors
  /** This host's copies of environments' images. */
  readonly images: HostImages
  readonly gateway: GatewayAccess
  /** Access of this worker's sandboxes to Git hosts. */
  readonly git: GitAccess
  /** The public hosts that sandboxes may reach; undefined: none. */
  readonly publicHosts: PublicHosts | undefined
  readonly bounds: SandboxBounds
  readonly limits: ExecutionLimits
  /** Budgets of a Run, unless its organization has its own. */
  readonly budgets: RunBudgets
  /** Rules that answer approvals without asking people. */
  readonly approvalRules: readonly ApprovalRule[]
  /** Caps of the checkpoints of a workspace and of a conversation, and of an environment's cache. */
  readonly checkpointLimits: Readonly<Record<'workspace' | 'conversation' | 'cache', CheckpointLimits>>
  /** Names this machine: only the host that made a sandbox can reach it. */
  readonly host: string
  /** Command of the supervisor inside a sandbox. */
  readonly supervisorCommand: readonly string[]
}
