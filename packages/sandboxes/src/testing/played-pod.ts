import { type ChildProcess, execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Duplex } from 'node:stream'
import { spawn } from '../../../../script/testing/spawn.ts'
import type { SandboxBounds } from '../driver.ts'
import { sharedEtcFiles } from '../leases/inside-files.ts'
import type { Cgroups } from '../linux/cgroups.ts'
import { usrLinks } from '../linux/system-mounts.ts'
import { systemCallFilter } from '../seccomp/filter.ts'

/** The users of a pod's containers, as its manifest has them. */
export const podUids = { host: 10_001, agent: 10_002 } as const

const repository = new URL('../../../..', import.meta.url).pathname
const volumes = [
  'host',
  'line',
  'files-line',
  'platform',
  'shown',
  'workspace',
  'home',
  'tmp',
  'scratch',
  'files',
] as const
type Volume = (typeof volumes)[number]
const containers = ['agent', 'files', 'host'] as const
type Container = (typeof containers)[number]
const hostBounds = { memoryBytes: 1024 ** 3, processes: 200, cpus: 2 }

/** Lays out the image of sandboxes in a directory. */
export async function layOutImage(root: string): Promise<void> {
  const layOut = join(repository, 'deploy/image/lay-out')
  execFileSync(layOut, [join(repository, 'packages/supervisor/dist'), process.execPath, join(root, 'berth')])
  await mkdir(join(root, 'etc'))
  const files = [...sharedEtcFiles, ['passwd', userLine], ['group', `agent:x:${podUids.agent}:\n`]] as const
  for (const [name, content] of files) await writeFile(join(root, 'etc', name), content)
}

const userLine = `agent:x:${podUids.agent}:${podUids.agent}:agent:/home/agent:/bin/bash\n`

/** Joins cgroups, and becomes the command behind `--`. */
const JOIN = 'while [ "$1" != -- ]; do echo 0 > "$1" || exit 97; shift; done; shift; exec "$@"'

/**
 * A pod without a cluster: its volumes are directories, and its containers processes of bubblewrap with the users, mounts
 * and bounds of the manifest. What kubelet does besides is its caller's. The containers have a network each.
 */
export class PlayedPod {
  readonly #root: string
  readonly #image: string
  readonly #groups: Cgroups
  readonly #containers = new Map<Container, ChildProcess>()

  constructor(root: string, image: string, groups: Cgroups) {
    this.#root = root
    this.#image = image
    this.#groups = groups
  }

  get name(): string {
    return this.#root.slice(this.#root.lastIndexOf('/') + 1)
  }

  /** Where the host has its volumes. */
  get dataDir(): string {
    return this.volume('host')
  }

  volume(name: Volume): string {
    // Below the host's own, where the manifest mounts them.
    const below = ['line', 'files-line', 'platform', 'shown'].includes(name)
    return below ? join(this.#root, 'host', name) : join(this.#root, name)
  }

  /** Makes the volumes, which every user may write, as an `emptyDir`. */
  async make(bounds: SandboxBounds): Promise<void> {
    for (const name of volumes) {
      await mkdir(this.volume(name), { recursive: true })
      await chmod(this.volume(name), 0o777)
    }
    for (const below of ['extensions', 'source', 'engine']) {
      const path = join(this.volume('shown'), below)
      await mkdir(path)
      // As kubelet does: with the mode of the volume.
      await chmod(path, 0o777)
    }
    for (const container of containers) await this.#groups.make(`${this.name}.${container}`, bounds)
    // A container's runtime makes the places of nested mounts.
    await mkdir(join(this.volume('workspace'), '.berth'))
  }

  /** Starts a container beside the host; again, if it has ended. */
  async start(part: 'agent' | 'files', bounds: SandboxBounds): Promise<void> {
    const shown = this.volume('shown')
    const mounts = [
      ...['--bind', this.volume('workspace'), '/workspace', '--bind', this.volume('home'), '/home/agent'],
      ...['--ro-bind', join(shown, 'extensions'), '/opt/extensions', '--ro-bind', join(shown, 'source'), '/opt/source'],
      ...['--ro-bind', join(shown, 'engine'), '/opt/berth/lease'],
      ...(part === 'agent'
        ? [
            ...[
              '--ro-bind',
              this.volume('platform'),
              '/workspace/.berth',
              '--ro-bind',
              this.volume('line'),
              '/run/berth',
            ],
            ...['--bind', this.volume('tmp'), '/tmp'],
          ]
        : [
            ...['--ro-bind', this.volume('files-line'), '/run/berth', '--bind', this.volume('scratch'), '/scratch'],
            ...['--bind', this.volume('files'), '/var/lib/berth', '--tmpfs', '/tmp'],
          ]),
    ]
    const joins = await this.#groups.ensure(`${this.name}.${part}`, bounds)
    this.#run(part, podUids.agent, ['--unshare-net', ...mounts], ['/opt/berth/pod-agent', part], joins)
  }

  /** Starts a program of the repository in the container of the host. */
  async startHost(program: string, env: Readonly<Record<string, string>>): Promise<void> {
    const mounts = ['--bind', this.dataDir, '/var/lib/berth', '--ro-bind', repository, '/repository', '--tmpfs', '/tmp']
    const joins = await this.#groups.ensure(`${this.name}.host`, hostBounds)
    this.#run('host', podUids.host, mounts, ['/opt/berth/node', `/repository/${program}`], joins, env)
  }

  /** Kills a container, as the kernel does when it is out of memory. */
  async kill(container: Container): Promise<void> {
    const child = this.#containers.get(container)
    this.#containers.delete(container)
    if (!(await this.#groups.end(`${this.name}.${container}`))) throw new Error(`${container} does not end`)
    if (child !== undefined && child.exitCode === null && child.signalCode === null) await once(child, 'exit')
  }

  /** Ends all containers and removes the volumes. */
  async remove(): Promise<void> {
    for (const container of containers) await this.kill(container)
    await rm(this.#root, { recursive: true, force: true })
  }

  #run(
    name: Container,
    uid: number,
    mounts: readonly string[],
    command: readonly string[],
    joins: readonly string[],
    env: Readonly<Record<string, string>> = {},
  ): void {
    const etc = ['passwd', 'group', 'hosts', 'nsswitch.conf', 'gitconfig']
    const args = [
      ...['--unshare-pid', '--unshare-ipc', '--unshare-uts', '--hostname', 'berth', '--as-pid-1', '--new-session'],
      ...['--die-with-parent', '--seccomp', '3', '--clearenv'],
      ...Object.entries({ PATH: '/usr/bin:/bin', ...env }).flatMap(([key, value]) => ['--setenv', key, value]),
      ...['--cap-drop', 'ALL', ...['SETUID', 'SETGID', 'SETPCAP'].flatMap(cap => ['--cap-add', `CAP_${cap}`])],
      ...['--ro-bind', '/usr', '/usr', ...usrLinks()],
      ...['/opt', '/run', '/var', '/var/lib', '/home', '/etc'].flatMap(path => ['--perms', '0755', '--dir', path]),
      ...etc.flatMap(file => ['--ro-bind', join(this.#image, 'etc', file), `/etc/${file}`]),
      ...['--ro-bind', join(this.#image, 'berth'), '/opt/berth', '--proc', '/proc', '--dev', '/dev'],
      ...['--perms', '1777', '--tmpfs', '/dev/shm'],
      ...[...mounts, '--remount-ro', '/', '--'],
      ...['setpriv', '--reuid', String(uid), '--regid', String(uid), '--clear-groups', '--no-new-privs'],
      ...['--bounding-set=-all', '--inh-caps=-all', '--', ...command],
    ]
    const child = spawn('/bin/sh', ['-c', JOIN, 'join', ...joins, '--', 'bwrap', ...args], {
      stdio: ['ignore', 'ignore', 'pipe', 'pipe'],
      env: { PATH: process.env['PATH'] ?? '' },
    })
    child.stderr?.on('data', (chunk: Buffer) => process.stderr.write(`${this.name} ${name}: ${chunk}`))
    const filter: unknown = child.stdio[3]
    if (filter instanceof Duplex) filter.on('error', () => undefined).end(systemCallFilter())
    this.#containers.set(name, child)
  }
}
