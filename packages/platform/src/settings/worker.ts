import { resolve } from 'node:path'
import { StartError } from '../kit/start-error.ts'
import { type ApprovalRule, parseApprovalRules } from './approval-rules.ts'
import type { Environment } from './environment.ts'
import type { Fixed } from './fixed.ts'
import { type RunBudgets, readBudgets } from './run-budgets.ts'

/** Times and counts of a worker. */
export interface WorkerLimits {
  /** Life of a claim without a heartbeat. */
  readonly fenceMs: number
  readonly maxAttempts: number
  readonly maxHandovers: number
  /** Newest sealed Runs of a Session whose checkpoints are kept. */
  readonly sealsKept: number
  readonly provisionMs: number
  /** Longest duration of an environment's setup script. */
  readonly setupMs: number
  readonly agentStartMs: number
  readonly runMs: number
  readonly cancelGraceMs: number
  /** A native agent that has waited for people this long releases its sandbox. */
  readonly parkMs: number
  /** An agent without a Run for this long is ended; its sandbox stays. */
  readonly agentIdleMs: number
  /** Time that people have to decide an approval. */
  readonly approvalMs: number
  /** A sandbox whose supervisor is silent for this long counts as frozen. */
  readonly pingMs: number
  /** A host that is silent for this long counts as lost, and its sandboxes with it. */
  readonly hostLostMs: number
  /** Maximum number of concurrent Runs. */
  readonly concurrency: number
  /** Maximum number of Events that the agent of a Run may add to the log. */
  readonly runEvents: number
  readonly runEventBytes: number
}

/** Limits and rules of a worker. */
export interface WorkerSettings {
  readonly limits: WorkerLimits
  /** Approvals that workers grant without asking people. */
  readonly approvalRules: readonly ApprovalRule[]
  /** Limits of a Run, unless its organization has its own. */
  readonly budgets: RunBudgets
}

/**
 * Reads the worker's settings.
 * @throws StartError if the file of approval rules is missing or wrong
 */
export function readWorker(
  env: Environment,
  readFile: (path: string) => string | undefined,
  fixed: Fixed,
): WorkerSettings {
  const fenceMs = env.duration(
    'BERTH_FENCE_SECONDS',
    4,
    'Others take over from a process that was silent for this long; it writes its heartbeat four times as often. Raise it if processes stand still for seconds, as on a busy virtual machine; takeovers then take longer.',
  )
  // A running restore may still read the newest but one.
  const sealsKept = env.integer(
    'BERTH_SEALS_KEPT',
    2,
    'Newest sealed Runs of a Session that can be forked; each further one costs what its Run changed, once more. Raise it if people fork from older Runs.',
    { least: 2, most: 1000 },
  )
  const times = readTimes(env)
  const approvalRules = readApprovalRules(env, readFile)
  const concurrency = env.integer(
    'BERTH_WORKER_CONCURRENCY',
    8,
    'Runs that a worker executes at once. Raise it on a large machine: a Run needs the memory of its sandbox.',
  )
  const budgets = readBudgets(env)
  const { maxAttempts, maxHandovers, provisionMs, agentStartMs, cancelGraceMs, parkMs, agentIdleMs, pingMs } = fixed
  const { hostLostMs, runEvents, runEventBytes } = fixed
  return {
    limits: {
      ...{ fenceMs, sealsKept, ...times, concurrency },
      ...{ maxAttempts, maxHandovers, provisionMs, agentStartMs, cancelGraceMs, parkMs, agentIdleMs, pingMs },
      ...{ hostLostMs, runEvents, runEventBytes },
    },
    approvalRules,
    budgets,
  }
}

function readTimes(env: Environment) {
  return {
    setupMs: env.duration(
      'BERTH_SETUP_SECONDS',
      1200,
      "Longest duration of an environment's setup script; it is no part of the Run's own time. Raise it for environments that build for long.",
    ),
    runMs: env.duration(
      'BERTH_RUN_SECONDS',
      14_400,
      'Longest duration of a Run, without the time in which it waits for people. Raise it for longer work, with `BERTH_LEASE_MAX_SECONDS`.',
    ),
    approvalMs: env.duration(
      'BERTH_APPROVAL_SECONDS',
      600,
      'Deadline for people to decide an approval. Raise it if nobody watches all the time.',
    ),
  }
}

function readApprovalRules(env: Environment, readFile: (path: string) => string | undefined): readonly ApprovalRule[] {
  const named = env.text(
    'BERTH_APPROVAL_RULES',
    'JSON file of approvals that need no person ([interactions](interactions.md)). Set it if people approve the same harmless calls again and again.',
    'people are asked',
    'a path',
  )
  if (named === undefined) return []
  const path = resolve(named)
  const text = readFile(path)
  if (text === undefined) throw new StartError(`BERTH_APPROVAL_RULES names ${path}, which does not exist`)
  return parseApprovalRules(text, path)
}
