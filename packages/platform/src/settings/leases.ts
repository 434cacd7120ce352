import { StartError } from '../kit/start-error.ts'
import type { Environment } from './environment.ts'
import type { Fixed } from './fixed.ts'

/** Lifetimes of sandboxes. */
export interface LeaseSettings {
  /** Life of a sandbox without a Run. */
  readonly idleMs: number
  /** Longest life of any sandbox. */
  readonly maxMs: number
  /** Longest wait of a caller for a workspace that a worker is restoring. */
  readonly workspaceWaitMs: number
  /** Longest life of a trial of an environment. */
  readonly trialMs: number
  /** Whether an orderly stop gives back the sandboxes that rest on this machine, their work sealed. */
  readonly stopGivesBack: boolean
}

export function readLeases(env: Environment, fixed: Fixed): LeaseSettings {
  const leases = {
    idleMs: env.duration(
      'BERTH_LEASE_IDLE_SECONDS',
      900,
      'A sandbox is given up after this long without a Run. Raise it if people come back later and should find a warm sandbox, lower it to free memory.',
    ),
    maxMs: env.duration(
      'BERTH_LEASE_MAX_SECONDS',
      14_400,
      'A sandbox is given up after this long in any case. Raise it for Runs that work longer than this.',
    ),
    workspaceWaitMs: fixed.workspaceWaitMs,
    trialMs: fixed.trialMs,
    stopGivesBack: fixed.stopGivesBack,
  }
  if (leases.idleMs > leases.maxMs) {
    throw new StartError('BERTH_LEASE_IDLE_SECONDS must not be above BERTH_LEASE_MAX_SECONDS')
  }
  return leases
}
