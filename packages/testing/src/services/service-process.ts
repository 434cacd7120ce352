import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import type { Fixed } from '@berth/platform/settings/fixed.ts'
import { spawn } from '../../../../script/testing/spawn.ts'
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
 * @param main the program of another release, which takes none of those
 */
export async function startServiceProcess(
  variables: Readonly<Record<string, string>>,
  fixed: Partial<Fixed> = {},
  main?: string,
): Promise<ServiceProcess> {
  const program = main === undefined ? [PROGRAM, JSON.stringify({ ...testFixed, ...fixed })] : [main]
  const child = spawn(process.execPath, program, {
    env: {
      PATH: process.env.PATH,
      BERTH_PORT: '0',
      BERTH_EGRESS: 'none',
      BERTH_FENCE_SECONDS: testVariables.BERTH_FENCE_SECONDS,
      // Sandboxes that stand ready cost every start of a service a second of both cores.
      BERTH_POOL_MOST: '0',
      ...variables,
      BERTH_LOG_LEVEL: 'info',
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const ended = once(child, 'exit')
  const service = {
    pid: child.pid ?? 0,
    url: '',
    lines: [] as string[],
    async kill(signal: NodeJS.Signals = 'SIGKILL') {
      child.kill(signal)
      await ended
    },
    [Symbol.asyncDispose]: () => service.kill(),
  }
  try {
    service.url = await readiness(child, service.lines)
    if ((variables['BERTH_ROLES'] ?? 'api').includes('api')) {
      await until('a ready service', async () => (await fetch(`${service.url}/readyz`)).ok)
    }
    return service
  } catch (error) {
    await service.kill()
    throw error
  }
}

/** Returns the base URL that the service logs once it is ready. */
async function readiness(child: ChildProcess, lines: string[]): Promise<string> {
  if (child.stdout === null || child.stderr === null) throw new Error('the service has no streams')
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  const keepLine = (line: string) => {
    lines.push(line)
    if (!line.startsWith('{')) return
    const entry: { msg?: string; baseUrl?: string } = JSON.parse(line)
    if (entry.msg === 'Berth is ready') resolve(entry.baseUrl ?? '')
  }
  // Read the output to its end: a full pipe would stop the service.
  createInterface(child.stdout).on('line', keepLine)
  createInterface(child.stderr).on('line', keepLine)
  child.once('error', reject)
  child.once('exit', () => reject(new Error(`the service did not start:\n${lines.slice(-20).join('\n')}`)))
  return promise
}
