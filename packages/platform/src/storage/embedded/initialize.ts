import { spawn } from 'node:child_process'
import { chownSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { StartError } from '../../kit/start-error.ts'
import { syncDirectory } from '../sync-directory.ts'
import { postgresCommand, postgresEnvironment } from './command.ts'
import type { Layout } from './layout.ts'
import { explain } from './server-log.ts'

/** Major version of the binaries. They cannot serve a data directory of another version. */
const majorVersion = '18'
const temporaryPrefix = 'initializing-'

/** The superuser that initdb makes, for setup and migrations only. The socket's directory is closed to other users. */
export const superuser = 'berth'
/** The service's role. It owns nothing. */
export const serviceRole = 'berth_service'

/**
 * Makes the data directory if there is none. initdb works beside the final place and a rename publishes the result, so
 * nobody takes a half-made directory for a database after a crash. The caller holds the service lock.
 */
export async function ensureDataDirectory(layout: Layout): Promise<void> {
  removeLeftovers(layout.directory)
  if (existsSync(layout.data)) return checkVersion(layout)
  const temporary = join(layout.directory, `${temporaryPrefix}${process.pid}-${Date.now()}`)
  mkdirSync(temporary, { mode: 0o700 })
  try {
    if (layout.uid !== undefined) chownSync(temporary, layout.uid, layout.uid)
    await initdb(layout, temporary)
    renameSync(temporary, layout.data)
    await syncDirectory(layout.directory)
  } catch (error) {
    rmSync(temporary, { recursive: true, force: true })
    throw error
  }
}

async function initdb(layout: Layout, target: string): Promise<void> {
  const command = postgresCommand(layout, target, 'KILL', view => [
    `${view.bin}/initdb`,
    `--pgdata=${view.data}`,
    `--username=${superuser}`,
    '--auth=trust',
    '--encoding=UTF8',
    '--locale=C',
    '--locale-provider=builtin',
    '--builtin-locale=C.UTF-8',
  ])
  const child = spawn(command.file, command.args, {
    env: postgresEnvironment,
    cwd: '/',
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const [code, out, err] = await Promise.all([
    new Promise<number | null>((resolve, reject) => child.once('error', reject).once('exit', resolve)),
    text(child.stdout),
    text(child.stderr),
  ]).catch(error => {
    throw new StartError(`${command.file}(1) cannot be started: install util-linux`, { cause: error })
  })
  if (code !== 0) throw new StartError(`the embedded PostgreSQL cannot be initialized: ${explain(err + out)}`)
}

/** The initdb of a killed service may live a moment longer and still write; the next start removes its remains. */
function removeLeftovers(directory: string): void {
  for (const name of readdirSync(directory)) {
    if (!name.startsWith(temporaryPrefix)) continue
    try {
      rmSync(join(directory, name), { recursive: true, force: true, maxRetries: 3, retryDelay: 50 })
    } catch {
      // Never opened as a database, so harmless.
    }
  }
}

function checkVersion(layout: Layout): void {
  let version: string
  try {
    version = readFileSync(join(layout.data, 'PG_VERSION'), 'latin1').trim()
  } catch (error) {
    throw new StartError(`${layout.data} is not a PostgreSQL data directory: PG_VERSION is missing`, {
      cause: error,
    })
  }
  if (version === majorVersion) return
  throw new StartError(
    `${layout.data} is of PostgreSQL ${version}, but this release runs ${majorVersion}: dump and restore it`,
  )
}
