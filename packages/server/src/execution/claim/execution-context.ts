import type { CheckpointLimits } from '../../checkpoints/limits.ts'
import type { Context } from '../../context.ts'
import type { Mirrors } from '../../repositories/mirrors.ts'
import type { PublicHosts, SandboxBounds, SandboxDriver } from '../../sandboxes/driver.ts'
import type { ApprovalRule } from '../../settings/approval-rules.ts'
import type { RunBudgets } from '../../settings/run-budgets.ts'
import type { WorkerLimits } from '../../settings/worker.ts'
import type { GatewayAccess } from './gateway-access.ts'

/** Times and counts of execution: a worker's settings, and the times that follow from them. */
export interface ExecutionLimits extends WorkerLimits {
  /** Between two looks at a supervisor, and at its Run when nothing wakes the worker. */
  readonly pulseMs: number
  readonly leaseIdleMs: number
  readonly leaseMaxMs: number
  /** Between two looks at the queue and at lapsed claims when nothing wakes the worker. */
  readonly pollMs: number
  /** Between two looks at leases and sandboxes when nothing wakes the sweeper. */
  readonly sweepMs: number
}

/** What executing Runs needs beside the domains. */
export interface ExecutionContext extends Context {
  readonly driver: SandboxDriver
  /** Repositories as this host has fetched them. */
  readonly mirrors: Mirrors
  readonly gateway: GatewayAccess
  /** How far sandboxes reach the public network; undefined: not at all. */
  readonly publicHosts: PublicHosts | undefined
  readonly bounds: SandboxBounds
  readonly limits: ExecutionLimits
  /** What a Run may use, unless its organization has budgets of its own. */
  readonly budgets: RunBudgets
  /** Approvals that nobody need be asked for. */
  readonly approvalRules: readonly ApprovalRule[]
  /** What is kept of a workspace and of a conversation at most (interface 8.5). */
  readonly checkpointLimits: { readonly workspace: CheckpointLimits; readonly conversation: CheckpointLimits }
  /** Names this machine: sandboxes are reached from where they were made. */
  readonly host: string
  /** Command of the supervisor inside a sandbox. */
  readonly supervisorCommand: readonly string[]
}
