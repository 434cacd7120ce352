import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { cp, mkdir, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { StartError } from '../kit/start-error.ts'
import type { ForeignRuntime } from './foreign/foreign-runtime.ts'

/** What each package is pinned to, with the digest of every part of it. */
const locks = join(import.meta.dirname, '../../runtimes')
/** Of npm's complaint, what a person is shown. */
const MAX_COMPLAINT = 2000

/** Directories of the service's variables that npm works by; nothing else of the environment reaches it. */
const handedOn = /^(PATH|HOME|USER|TMPDIR|SSL_CERT_.*|NODE_EXTRA_CA_CERTS|https?_proxy|no_proxy|npm_config_.*)$/i

/** Where the packages of this service are. */
export const installsIn = (dataDir: string): string => join(dataDir, 'runtimes')

/** Where one release of a runtime is, once it is installed. */
export const installDirectory = (installs: string, { id, version }: Pick<ForeignRuntime, 'id' | 'version'>): string =>
  join(installs, `${id}-${version}`)

/**
 * Installs a runtime as its lock file pins it; npm holds every part against its digest, and no script of a package is
 * run. It appears whole, by a rename; two at once do no harm. Other releases stay, since sandboxes may be running them.
 * @throws StartError when there is nothing to install, or npm fails, with what npm says
 * @returns the directory, and whether it was made now
 */
export async function installRuntime(
  runtime: ForeignRuntime,
  installs: string,
): Promise<{ readonly directory: string; readonly installed: boolean }> {
  if (runtime.install.kind === 'program') {
    throw new StartError(`${runtime.name} is in no registry of packages: put its program at ${runtime.install.path}`)
  }
  const directory = installDirectory(installs, runtime)
  if (await exists(directory)) return { directory, installed: false }
  await mkdir(installs, { recursive: true, mode: 0o755 })
  const fresh = join(installs, `.${runtime.id}-${randomUUID()}`)
  try {
    await cp(join(locks, runtime.id), fresh, { recursive: true })
    await npmCi(fresh)
    await rename(fresh, directory).catch(async error => {
      // Somebody else was faster, with the same.
      if (!(await exists(directory))) throw error
    })
  } finally {
    await rm(fresh, { recursive: true, force: true })
  }
  return { directory, installed: true }
}

async function npmCi(cwd: string): Promise<void> {
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => handedOn.test(name)))
  const args = ['ci', '--ignore-scripts', '--omit=dev', '--no-audit', '--no-fund', '--loglevel=error']
  const child = spawn('npm', args, { cwd, env, stdio: ['ignore', 'ignore', 'pipe'] })
  let complaint = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    complaint = (complaint + text).slice(-MAX_COMPLAINT)
  })
  const { promise, resolve, reject } = Promise.withResolvers<number | null>()
  child.once('error', reject)
  child.once('close', resolve)
  const code = await promise.catch(cause => {
    throw new StartError('npm cannot be started; installing a runtime needs it', { cause })
  })
  if (code !== 0) throw new StartError(`npm ci failed: ${complaint.trim() || `exit code ${code}`}`)
}

const exists = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    () => false,
  )
