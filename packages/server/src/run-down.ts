import { existsSync } from 'node:fs'
import { realpath } from 'node:fs/promises'
import { resolve } from 'node:path'
import { StartError } from '@berth/platform/kit/start-error.ts'
import { takeDown } from '@berth/sandboxes/down/take-down.ts'
import { servingProcesses } from '@berth/sandboxes/leases/serving.ts'
import { instanceOf } from '@berth/sandboxes/linux/instance.ts'
import { waitUntil } from '@berth/sandboxes/linux/wait-until.ts'

/** Time that a service has for an orderly stop. */
const STOPPING_MS = 60_000
const KILLING_MS = 10_000

/** The data directory to take down. */
export interface DownOptions {
  /** The data directory; by default that of the environment. */
  readonly data?: string
  /** End the services that run on it first. */
  readonly force?: boolean
}

/**
 * Ends every sandbox of a data directory and gives back their resources on this host, so that the directory can be deleted.
 * It says what it did in one line.
 * @returns the exit code: 1 if something is left
 * @throws StartError if a service runs on the directory, or it does not exist
 */
export async function down(
  variables: Readonly<Record<string, string | undefined>>,
  { data, force = false }: DownOptions,
): Promise<number> {
  const named = resolve(data ?? variables['BERTH_DATA_DIR'] ?? '.berth')
  if (!existsSync(named)) throw new StartError(`there is no data directory ${named}`)
  const dataDir = await realpath(named)
  const serving = await servingProcesses(dataDir)
  if (serving.length > 0 && !force) {
    const who =
      serving.length === 1
        ? `a service runs on ${dataDir} (process ${serving[0]})`
        : `services run on ${dataDir} (processes ${serving.join(', ')})`
    throw new StartError(`${who}: stop it first, or add --force`)
  }
  if (serving.length > 0) await endServices(dataDir, serving)
  const left = Object.values(await takeDown(instanceOf(dataDir))).flat()
  if (left.length === 0) {
    process.stdout.write(`no sandbox of ${dataDir} is left\n`)
    return 0
  }
  console.error(`berth: could not remove everything of ${dataDir}; still there: ${left.join(', ')}`)
  return 1
}

async function endServices(dataDir: string, serving: readonly number[]): Promise<void> {
  for (const [signal, withinMs] of [
    ['SIGTERM', STOPPING_MS],
    ['SIGKILL', KILLING_MS],
  ] as const) {
    const alive = (await servingProcesses(dataDir)).filter(pid => serving.includes(pid))
    for (const pid of alive) process.kill(pid, signal)
    if (await waitUntil(async () => (await servingProcesses(dataDir)).length === 0, withinMs)) return
  }
  throw new StartError(`the service on ${dataDir} does not end`)
}
