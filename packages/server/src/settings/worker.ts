import { resolve } from 'node:path'
import { StartError } from '../kit/start-error.ts'
import { type ApprovalRule, parseApprovalRules } from './approval-rules.ts'
import type { Environment } from './environment.ts'
import { type RunBudgets, readBudgets } from './run-budgets.ts'

/** How much the agent of one Run may add to the log, which is kept for ever; the Run then fails with `event_budget`. */
const RUN_EVENTS = 200_000
const RUN_EVENT_BYTES = 256 * 1024 ** 2

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
export function readWorker(env: Environment, readFile: (path: string) => string | undefined): WorkerSettings {
  const fenceMs = env.duration(
    'BERTH_FENCE_SECONDS',
    4,
    'Others take over from a process that was silent for this long; it writes its heartbeat four times as often.',
  )
  const counts = {
    maxAttempts: env.integer(
      'BERTH_MAX_ATTEMPTS',
      3,
      'Most attempts at a Run, if its agent is lost before it called a tool.',
    ),
    maxHandovers: env.integer(
      'BERTH_MAX_HANDOVERS',
      5,
      'Times that a Run may lose its worker without progress, or its host before its agent begins, before that counts as an attempt or it crashes.',
    ),
    // A running restore may still read the newest but one.
    sealsKept: env.integer(
      'BERTH_SEALS_KEPT',
      2,
      'Newest sealed Runs of a Session that can be forked; each further one costs what its Run changed, once more.',
      { least: 2, most: 1000 },
    ),
  }
  const times = readTimes(env)
  const approvalRules = readApprovalRules(env, readFile)
  const hosts = readHostTimes(env)
  const concurrency = env.integer('BERTH_WORKER_CONCURRENCY', 8, 'Runs that a worker executes at once.')
  const budgets = readBudgets(env)
  return {
    limits: {
      fenceMs,
      ...counts,
      ...times,
      ...hosts,
      concurrency,
      runEvents: RUN_EVENTS,
      runEventBytes: RUN_EVENT_BYTES,
    },
    approvalRules,
    budgets,
  }
}

function readTimes(env: Environment) {
  return {
    provisionMs: 60_000,
    setupMs: env.duration(
      'BERTH_SETUP_SECONDS',
      1200,
      "Longest duration of an environment's setup script; it is no part of the Run's own time.",
    ),
    agentStartMs: env.duration(
      'BERTH_AGENT_START_SECONDS',
      60,
      'Deadline for an agent to start and open its conversation.',
    ),
    runMs: env.duration(
      'BERTH_RUN_SECONDS',
      14_400,
      'Longest duration of a Run, without the time in which it waits for people.',
    ),
    cancelGraceMs: env.duration(
      'BERTH_CANCEL_GRACE_SECONDS',
      10,
      'A cancelled agent that has not stopped after this long is killed.',
    ),
    parkMs: env.duration(
      'BERTH_PARK_SECONDS',
      600,
      'A native agent that has waited for an answer this long is sealed and gives its sandbox back.',
    ),
    agentIdleMs: env.duration(
      'BERTH_AGENT_IDLE_SECONDS',
      120,
      'An agent that was not asked anything for this long is ended, and its sandbox stays; the next Turn starts it again ([leases](leases.md#idle-agents)).',
    ),
    approvalMs: env.duration('BERTH_APPROVAL_SECONDS', 600, 'Deadline for people to decide an approval.'),
  }
}

function readHostTimes(env: Environment) {
  return {
    pingMs: env.duration('BERTH_PING_SECONDS', 10, 'A supervisor that is silent for this long counts as hung.'),
    hostLostMs: 300_000,
  }
}

function readApprovalRules(env: Environment, readFile: (path: string) => string | undefined): readonly ApprovalRule[] {
  const named = env.text(
    'BERTH_APPROVAL_RULES',
    'JSON file of approvals that need no person ([interactions](interactions.md)).',
    'people are asked',
  )
  if (named === undefined) return []
  const path = resolve(named)
  const text = readFile(path)
  if (text === undefined) throw new StartError(`BERTH_APPROVAL_RULES names ${path}, which does not exist`)
  return parseApprovalRules(text, path)
}
