import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { spawn } from '../../../../../script/testing/spawn.ts'
import type { Fixed } from '../../../src/settings/fixed.ts'
import { until } from '../until.ts'
import { testFixed, testVariables } from './service.ts'

const PROGRAM = fileURLToPath(new URL('service-program.ts', import.meta.url))

/** The service as a process of its own, so that a test can kill it. */
export interface ServiceProcess extends AsyncDisposable {
  readonly pid: number
  /** URL of the listener; meaningless in a process without one. */
  readonly url: string
  /** Every line of its output. */
  readonly lines: readonly string[]
  /** Sends a signal and waits for the process to end. */
  kill(signal?: NodeJS.Signals): Promise<void>
}

/**
 * Starts the service and waits until it is ready.
 * @param variables the settings; the environment has no others
 * @param fixed other values of those that no operator sets
 * @param main another program than the service as it is installed, which takes none of those
 */
export async function startServiceProcess(
  variables: Readonly<Record<string, string>>,
  fixed: Partial<Fixed> = {},
  main?: string,
): Promise<ServiceProcess> {
