import { destination, pino } from 'pino'
import { readIfThere } from './read-if-there.ts'
import { knownSecrets } from './secrets.ts'
import { serve as start } from './serve.ts'
import { loadSettings } from './settings.ts'
import { StartError } from './start-error.ts'

/**
 * Runs the service until it is told to stop (SIGTERM, SIGINT), then drains it. The only reader of the environment.
 * @param variables the environment
 * @returns the exit code: 0 after a stop that was asked for, 1 where it could not start, in one line on stderr
 */
export async function serve(variables: Readonly<Record<string, string | undefined>>): Promise<number> {
  try {
    const settings = loadSettings(variables, readIfThere)
    // Written in batches: a system call for each line was 7 % of a busy API process.
    const output = destination({ dest: 1, sync: false })
    const log = pino({ level: settings.logLevel, hooks: { streamWrite: line => knownSecrets.text(line) } }, output)
    const stop = Promise.withResolvers<NodeJS.Signals>()
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => stop.resolve(signal))
    const service = await start(settings, log)
    for (const line of service.platform) log.info({ component: 'sandboxes' }, line)
    log.info({ baseUrl: service.settings.baseUrl, dataDir: settings.dataDir }, 'Berth is ready')
    const signal = await stop.promise
    log.info({ signal }, 'stopping')
    await service.close()
    return 0
  } catch (error) {
    if (!(error instanceof StartError)) throw error
    console.error(`berth: ${error.message}`)
    return 1
  }
}

if (import.meta.main) process.exitCode = await serve(process.env)
