import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { cp, mkdir, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { packagesDirectory } from '@berth/platform/kit/package-files.ts'
import { StartError } from '@berth/platform/kit/start-error.ts'
import type { ForeignRuntime } from './foreign/foreign-runtime.ts'

/** Directory of the lock files, which pin each package with the digest of every part. */
const locks = join(packagesDirectory, 'core/runtimes')
/** Number of trailing characters of npm's output that people are shown. */
const MAX_COMPLAINT = 2000

/** Variables that npm gets from the service's environment; it gets no others. */
const handedOn = /^(PATH|HOME|USER|TMPDIR|SSL_CERT_.*|NODE_EXTRA_CA_CERTS|https?_proxy|no_proxy|npm_config_.*)$/i

/** Returns the directory of this service's packages. */
export const installsIn = (dataDir: string): string => join(dataDir, 'runtimes')

/** Returns the directory of one installed release of a runtime. */
export const installDirectory = (installs: string, { id, version }: Pick<ForeignRuntime, 'id' | 'version'>): string =>
  join(installs, `${id}-${version}`)

/**
 * Installs a runtime as its lock file pins it. npm checks every part against its digest, and runs no script of a
 * package. A rename makes the result appear whole, so two installs at once do no harm. Other releases stay, since
 * sandboxes may be running them.
 *
 * @returns the directory, and whether this call made it
 * @throws StartError if there is nothing to install, or npm fails, with npm's output
 */
export async function installRuntime(
  runtime: ForeignRuntime,
  installs: string,
): Promise<{ readonly directory: string; readonly installed: boolean }> {
  if (runtime.install.kind === 'program') {
    throw new StartError(`no package registry has ${runtime.name}: install its program at ${runtime.install.path}`)
  }
  const directory = installDirectory(installs, runtime)
  if (await exists(directory)) return { directory, installed: false }
  await mkdir(installs, { recursive: true, mode: 0o755 })
  const fresh = join(installs, `.${runtime.id}-${randomUUID()}`)
  try {
    await cp(join(locks, runtime.id), fresh, { recursive: true })
    await npmCi(fresh)
    await rename(fresh, directory).catch(async error => {
      // Another process was faster, with the same result.
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
    throw new StartError('npm cannot be started: install npm, then try again', { cause })
  })
  if (code !== 0) throw new StartError(`npm ci failed: ${complaint.trim() || `exit code ${code}`}`)
}

const exists = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    () => false,
  )
