import { existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { packagesDirectory } from '@berth/platform/kit/package-files.ts'
import { knownSecrets } from '@berth/platform/kit/redactor.ts'
import { StartError } from '@berth/platform/kit/start-error.ts'
import { releaseVersion } from '@berth/platform/kit/version.ts'
import { logLines } from '@berth/platform/logging/log-lines.ts'
import { LogOutput } from '@berth/platform/logging/log-output.ts'
import { openLogSink } from '@berth/platform/logging/log-sink.ts'
import { welcome } from '@berth/platform/logging/welcome.ts'
import type { Fixed } from '@berth/platform/settings/fixed.ts'
import { isOpenToOthers, readIfThere } from '@berth/platform/settings/read-if-there.ts'
import { loadSettings } from '@berth/platform/settings/settings.ts'
import { pino } from 'pino'
import { serve as start } from './serve.ts'

// Not `process.stdout.fd`: reading that property opens a second stream on the descriptor.
const STDOUT = 1
/** Time to write the last lines of the log; later lines are dropped. */
const LAST_LINES_MS = 2_000

/**
 * Runs the service until a signal stops it (SIGTERM, SIGINT), then drains it. Only this function reads the environment.
 * @param variables the environment
 * @param fixed other values of those that no operator sets, for tests
 * @returns the exit code: 0 after a requested stop; 1 if the service could not start, with one line on stderr
 */
export async function serve(
  variables: Readonly<Record<string, string | undefined>>,
  fixed: Partial<Fixed> = {},
): Promise<number> {
  const output = new LogOutput(openLogSink(STDOUT))
  // For an uncaught error: the last lines may hold its cause.
  process.once('exit', () => output.writeLastLines())
  try {
    const settings = loadSettings(variables, readIfThere, isOpenToOthers, fixed)
    const lines = logLines(settings.logging.format, STDOUT, variables)
    // Secrets are masked before a line takes another form, which could split one.
    const hooks = { streamWrite: (line: string) => lines.write(knownSecrets.text(line)) }
    const log = pino({ level: settings.logging.level, hooks }, output)
    output.onGap = dropped => log.warn({ dropped }, 'log lines were dropped: they could not be written')
    log.info({ version: releaseVersion, node: process.version, roles: [...settings.roles] }, 'Berth is starting')
    const stop = Promise.withResolvers<NodeJS.Signals>()
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => stop.resolve(signal))
    const service = await start(settings, log, { droppedLogLines: () => output.dropped })
    for (const line of service.platform) log.info({ component: 'sandboxes' }, line)
    const { urls, roles } = service.settings
    log.info({ baseUrl: urls.baseUrl, dataDir: settings.dataDir }, 'Berth is ready')
    if (lines.isTerminal && roles.has('api')) {
      const file = join(settings.dataDir, 'dev.json')
      const developmentFile = existsSync(file) ? file : null
      const commandDirectory = commandBesides(variables['PATH'])
      output.write(welcome({ ...urls, developmentFile, commandDirectory }, process.cwd()))
    }
    const signal = await stop.promise
    log.info({ signal }, 'stopping')
    await service.close()
    return 0
  } catch (error) {
    if (!(error instanceof StartError)) throw error
    console.error(`berth: ${error.message}`)
    return 1
  } finally {
    await output.close(LAST_LINES_MS)
  }
}

/** Returns the directory of this checkout's command unless the shell finds it; null without a checkout. */
function commandBesides(path = ''): string | null {
  const directory = join(packagesDirectory, '../bin')
  return path.split(delimiter).includes(directory) || !existsSync(join(directory, 'berth')) ? null : directory
}
