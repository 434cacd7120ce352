import { addAbortListener } from 'node:events'
import { existsSync } from 'node:fs'
import { chown, mkdir, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { env as hostEnvironment } from 'node:process'
import { confine, nobody } from '../confined/confined.ts'
import { hasSucceeded } from '../lease-program.ts'
import { shown } from '../linux/system-mounts.ts'
import { BoundedText } from './bounded-text.ts'
import type { LayerPlan } from './layer-plan.ts'
import { PackagesFailed } from './packages-failed.ts'

const bounds = { memoryBytes: 2 * 1024 ** 3, cpuSeconds: 300, fileBytes: 2 * 1024 ** 3 }
/** How the host resolves names. Only the program that fetches sees them. */
const resolver = ['resolv.conf', 'hosts', 'nsswitch.conf']
const proxies = ['http_proxy', 'https_proxy', 'no_proxy']
const inside = '/fetched'
const options = [
  'Debug::NoLocking=1',
  `Dir::State::lists=${inside}/lists`,
  `Dir::Cache=${inside}/cache`,
  'Acquire::Retries=2',
  'Acquire::http::Timeout=30',
  'Acquire::https::Timeout=30',
].flatMap(option => ['-o', option])

/**
 * Fetches packages and everything that they need into `build/fetched`. Only a program without rights runs, and nothing
 * of a package.
 * @throws PackagesFailed, or the signal's reason
 */
export async function fetchPackages(
  build: string,
  etc: string,
  { names, bwrap }: LayerPlan,
  signal: AbortSignal,
): Promise<void> {
  const fetched = join(build, 'fetched')
  for (const name of ['', 'lists/partial', 'cache/archives/partial'])
    await mkdir(join(fetched, name), { recursive: true, mode: 0o755 })
  for (const name of ['', 'lists', 'lists/partial', 'cache', 'cache/archives', 'cache/archives/partial'])
    await chown(join(fetched, name), nobody.uid ?? -1, nobody.uid ?? -1)
  const apt = (command: readonly string[]) => runApt(command, { fetched, etc, bwrap }, signal)
  await apt(['apt-get', ...options, '--quiet', '--error-on=any', 'update'])
  const known = new Set((await apt(['apt-cache', ...options, 'pkgnames'])).split('\n'))
  // apt would take a name that it does not know for a pattern.
  const unknown = names.filter(name => !known.has(name))
  if (unknown.length > 0)
    throw new PackagesFailed(unknown.map(name => `berth: no source has a package ${name}\n`).join(''))
  await apt([
    'apt-get',
    ...options,
    '--quiet',
    '--yes',
    '--no-install-recommends',
    '--download-only',
    'install',
    ...names,
  ])
}

async function runApt(
  command: readonly string[],
  { fetched, etc, bwrap }: { readonly fetched: string; readonly etc: string; readonly bwrap: string },
  signal: AbortSignal,
): Promise<string> {
  signal.throwIfAborted()
  const shownBy = (directory: string, files: readonly string[]) =>
    files.flatMap(name => shown(join(directory, name), join('/etc', name)))
  const staged = (await readdir(etc)).filter(name => !resolver.includes(name))
  const program = await confine({
    ...nobody,
    bwrap,
    readsAll: false,
    network: true,
    bounds,
    environment: {
      PATH: '/usr/sbin:/usr/bin:/sbin:/bin',
      LC_ALL: 'C.UTF-8',
      ...Object.fromEntries(proxies.flatMap(name => (hostEnvironment[name] ? [[name, hostEnvironment[name]]] : []))),
    },
    directories: ['/etc/apt', '/var/lib/dpkg', inside],
    mounts: [
      ...[
        ...shownBy(etc, staged),
        ...shownBy(
          '/etc',
          resolver.filter(name => existsSync(join('/etc', name))),
        ),
      ],
      ...['--ro-bind', '/var/lib/dpkg', '/var/lib/dpkg', '--bind', fetched, inside],
      ...['--perms', '1777', '--tmpfs', '/tmp'],
    ],
    command,
  })
  using _listener = addAbortListener(signal, () => program.kill())
  program.input.end()
  const output = new BoundedText()
  program.output.setEncoding('utf8').on('data', (text: string) => output.push(text))
  const ended = await program.ended
  signal.throwIfAborted()
  if (hasSucceeded(ended)) return output.text
  if (ended.includes('bwrap: ')) throw new Error(`packages could not be fetched: ${ended}`)
  throw new PackagesFailed(`${withoutPasswords(ended.replace(/^\S+ ?/, ''))}\n`)
}

/** A source's address may name a user. */
const withoutPasswords = (text: string): string => text.replaceAll(/\/\/[^/\s@]+@/g, '//')
