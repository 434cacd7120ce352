import { spawn } from 'node:child_process'
import { closeSync, openSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Duplex } from 'node:stream'
import { helperCommand } from '../confined/helper-group.ts'
import { boundLayers, overlayCommand } from '../linux/overlay.ts'
import { runProgram, systemPath } from '../linux/run-program.ts'
import { usrLinks } from '../linux/system-mounts.ts'
import { makeUserNamespace } from '../linux/user-namespace.ts'
import { systemCallFilter } from '../seccomp/filter.ts'
import { BoundedText } from './bounded-text.ts'
import { type LayerPlan, layerNames } from './layer-plan.ts'
import { PackagesFailed } from './packages-failed.ts'

/** Uids of a layer, from root on. */
export const LAYER_UIDS = 65_536
const MAX_OUTPUT = 64 * 1024
const bounds = { memoryBytes: 4 * 1024 ** 3, cpuSeconds: 600, fileBytes: 2 * 1024 ** 3 }
const NAMESPACE_FD = 3
const FILTER_FD = 4

const environment = {
  PATH: '/usr/sbin:/usr/bin:/sbin:/bin',
  LC_ALL: 'C.UTF-8',
  HOME: '/root',
  DEBIAN_FRONTEND: 'noninteractive',
}
const options = [
  'APT::Sandbox::User=root',
  'Dpkg::Use-Pty=0',
  // A layer that a crash interrupts is never shown, so nothing has to reach the disk meanwhile.
  'Dpkg::Options::=--force-unsafe-io',
  'Dpkg::Options::=--force-confold',
].flatMap(option => ['-o', option])
/** Keeps maintainer scripts from starting services. */
const REFUSE_SERVICES = '#!/bin/sh\nexit 101\n'

/**
 * Installs the packages that were fetched. The user and mount namespaces end with the program, and so does the overlay.
 * @param tell takes what it writes, as far as it is bounded
 * @throws PackagesFailed with all of that, or the signal's reason
 */
export async function installPackages(
  directory: string,
  build: string,
  { names, bwrap, firstUid }: LayerPlan,
  onOutput: (text: string) => void,
  signal: AbortSignal,
): Promise<void> {
  const at = (name: string) => join(directory, name)
  const state = at(layerNames.var)
  await runProgram('cp', ['-a', '--', join(build, 'fetched', 'lists'), join(await made(state, 'lib/apt'), 'lists')])
  await runProgram('cp', ['-a', '--', join(build, 'fetched', 'cache'), join(await made(state, 'cache'), 'apt')])
  const work = await Promise.all(['run', 'tmp', 'root', 'work', 'merged', boundLayers].map(name => made(build, name)))
  const refusing = join(build, 'policy-rc.d')
  await writeFile(refusing, REFUSE_SERVICES, { mode: 0o755 })
  const owned = [...Object.values(layerNames).map(at), ...work.slice(0, 3), refusing]
  await runProgram('chown', ['-hR', `${firstUid}:${firstUid}`, '--', ...owned], signal)
  await run(
    await helperCommand(bounds),
    overlayCommand(
      { onDisk: 0, shown: firstUid, count: LAYER_UIDS },
      [
        {
          layers: ['/usr'],
          target: 'merged',
          options: `upperdir=../${layerNames.usr},workdir=work,redirect_dir=on,metacopy=off,xino=off,index=off`,
        },
      ],
      confinedApt(directory, build, bwrap, names),
    ),
    build,
    firstUid,
    onOutput,
    signal,
  )
}

function confinedApt(directory: string, build: string, bwrap: string, names: readonly string[]): readonly string[] {
  const bind = (source: string, target: string) => ['--bind', source, target]
  return [
    ...[
      bwrap,
      '--unshare-pid',
      '--unshare-ipc',
      '--unshare-uts',
      '--unshare-net',
      '--new-session',
      '--die-with-parent',
    ],
    ...['--userns2', String(NAMESPACE_FD), '--seccomp', String(FILTER_FD), '--clearenv'],
    ...Object.entries(environment).flatMap(([name, value]) => ['--setenv', name, value]),
    ...['--cap-add', 'ALL', ...bind(join(build, 'merged'), '/usr'), ...usrLinks()],
    ...['--ro-bind', join(build, 'policy-rc.d'), '/usr/sbin/policy-rc.d'],
    ...[layerNames.etc, layerNames.var, layerNames.opt].flatMap(name => bind(join(directory, name), `/${name}`)),
    ...['run', 'tmp', 'root'].flatMap(name => bind(join(build, name), `/${name}`)),
    ...['--proc', '/proc', '--dev', '/dev', '--remount-ro', '/', '--'],
    ...['setpriv', '--reuid', '0', '--regid', '0', '--clear-groups', '--no-new-privs', '--'],
    ...['apt-get', ...options, '--quiet', '--yes', '--no-install-recommends', '--no-download', 'install', ...names],
  ]
}

async function run(
  bounding: readonly string[],
  command: readonly string[],
  cwd: string,
  firstUid: number,
  onOutput: (text: string) => void,
  signal: AbortSignal,
): Promise<void> {
  const namespace = await makeUserNamespace()
  const descriptor = openSync(namespace.mapRange(firstUid, LAYER_UIDS), 'r')
  try {
    signal.throwIfAborted()
    const [shell = '', ...args] = bounding
    // Not `private`: that would keep the disks of ended sandboxes allocated until the program ends.
    const child = spawn(shell, [...args, 'unshare', '--mount', '--propagation', 'slave', '--', ...command], {
      env: { PATH: systemPath, LC_ALL: 'C' },
      cwd,
      stdio: ['ignore', 'pipe', 'pipe', descriptor, 'pipe'],
      detached: true,
    })
    const filter: unknown = child.stdio[FILTER_FD]
    if (!(filter instanceof Duplex)) throw new Error('the program has no pipe for its system-call filter')
    filter.on('error', () => undefined).end(systemCallFilter())
    const output = new BoundedText(MAX_OUTPUT)
    for (const stream of [child.stdout, child.stderr])
      stream?.setEncoding('utf8').on('data', (text: string) => {
        const before = output.text.length
        output.push(text)
        onOutput(output.text.slice(before))
      })
    const { promise, resolve, reject } = Promise.withResolvers<number | NodeJS.Signals | null>()
    child.on('error', reject)
    child.on('close', (code, killedBy) => resolve(killedBy ?? code))
    const stop = () => endGroup(child.pid)
    signal.addEventListener('abort', stop, { once: true })
    const end = await promise.finally(() => signal.removeEventListener('abort', stop))
    signal.throwIfAborted()
    if (end === 0) return
    throw new PackagesFailed(`${output.text}berth: the packages could not be installed (${end})\n`)
  } finally {
    closeSync(descriptor)
    namespace.release()
  }
}

/** Ends bubblewrap with everything in its pid namespace. */
function endGroup(pid: number | undefined): void {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL')
  } catch {
    // It has ended.
  }
}

async function made(directory: string, name: string): Promise<string> {
  const path = join(directory, name)
  await mkdir(path, { recursive: true, mode: 0o755 })
  return path
}
