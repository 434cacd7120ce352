import { join } from 'node:path'
import { hostName } from '@berth/platform/kit/host-id.ts'
import { openDataDirectory } from '@berth/platform/kit/open-data-directory.ts'
import { knownSecrets } from '@berth/platform/kit/redactor.ts'
import { StartError } from '@berth/platform/kit/start-error.ts'
import { logLines } from '@berth/platform/logging/log-lines.ts'
import { hostTokenOf } from '@berth/platform/settings/far-host.ts'
import { isOpenToOthers, readIfThere } from '@berth/platform/settings/read-if-there.ts'
import { secretsOf } from '@berth/platform/settings/secret-values.ts'
import { loadSettings } from '@berth/platform/settings/settings.ts'
import { lockForProcess } from '@berth/platform/storage/embedded/file-lock.ts'
import { openHelperGroup } from '@berth/sandboxes/confined/helper-group.ts'
import { noteServing } from '@berth/sandboxes/leases/serving.ts'
import { podObjects } from '@berth/sandboxes/pod/pod-places.ts'
import { HostRefused } from '@berth/worker/far-host/dial-service.ts'
import { objectsAt, openHostContent } from '@berth/worker/far-host/host-content.ts'
import { HostMemory } from '@berth/worker/far-host/host-memory.ts'
import { runFarHost } from '@berth/worker/far-host/run-far-host.ts'
import { pino } from 'pino'
import { openDriver } from './composition/open-driver.ts'
import { runtimeCatalog } from './composition/runtime-catalog.ts'

const STDOUT = 1
/** For all helper programs of this host. */
const HELPER_PROCESSES = 512

/**
 * Holds sandboxes of this machine for a service that it dials, until a signal stops it (SIGTERM, SIGINT). The sandboxes
 * stay, and the next start finds them.
 * @param variables the environment
 * @returns the exit code: 0 after a requested stop; 1 if the host could not start or the service refuses it, with one line
 *   on stderr
 */
export async function host(variables: Readonly<Record<string, string | undefined>>): Promise<number> {
  try {
    await using stack = new AsyncDisposableStack()
    // The rules of production for the URLs of a service concern no host: it serves none.
    const settings = loadSettings({ ...variables, NODE_ENV: undefined }, readIfThere, isOpenToOthers)
    const { dataDir, farHost, sandboxes, http } = settings
    if (farHost.url === undefined) throw new StartError('this host needs the URL of its service: set BERTH_HOST_URL')
    let known: string | null = null
    const token = () => {
      const now = hostTokenOf(farHost, readIfThere)
      if (now !== known) stack.use(knownSecrets.add(now))
      known = now
      return now
    }
    token()
    stack.use(knownSecrets.add(...secretsOf(settings)))
    const lines = logLines(settings.logging.format, STDOUT, variables)
    const hooks = { streamWrite: (line: string) => lines.write(knownSecrets.text(line)) }
    const log = pino({ level: settings.logging.level, hooks })
    await openDataDirectory(dataDir)
    // Two processes with one identity would take each other's connections for ever.
    const lock = await lockForProcess(join(dataDir, 'host.lock'), dataDir)
    stack.defer(() => lock.release())
    stack.use(await noteServing(dataDir))
    const isPod = settings.compute.kind === 'pod'
    const helpers = stack.use(await openHelperGroup(dataDir, { ...sandboxes.helpers, processes: HELPER_PROCESSES }))
    const memory = new HostMemory(dataDir)
    const runtimes = runtimeCatalog(settings)
    const objects = isPod ? podObjects(dataDir) : objectsAt(dataDir)
    const driver = stack.use(await openDriver({ log, runtimes }, settings, { directoryOf: objects }))
    for (const line of [helpers.description, ...driver.describe()]) log.info({ component: 'sandboxes' }, line)
    const content = openHostContent({
      dataDir,
      objects,
      contentBytes: sandboxes.extensionsBytes,
      inUse: () => memory.contents(),
      runtime: id => runtimes.find(id),
      installed: () => runtimes.installed,
    })
    const stopping = new AbortController()
    for (const signal of ['SIGTERM', 'SIGINT'] as const) {
      process.once(signal, () => {
        log.info({ signal }, 'stopping; the sandboxes stay')
        stopping.abort(new Error('this host is stopping'))
      })
    }
    const self = {
      id: await hostName(dataDir),
      token,
      capacity: farHost.capacity,
      pool: farHost.pool,
      labels: farHost.labels,
      release: http.release ?? '',
      driver: driver.kind,
    }
    log.info({ host: self.id, url: farHost.url, capacity: self.capacity }, 'this host dials its service')
    await runFarHost({ url: new URL(farHost.url), self, memory, log, driver, content }, stopping.signal)
    return 0
  } catch (error) {
    if (!(error instanceof StartError || error instanceof HostRefused)) throw error
    console.error(`berth: ${error.message}`)
    return 1
  }
}

if (import.meta.main) process.exitCode = await host(process.env)
