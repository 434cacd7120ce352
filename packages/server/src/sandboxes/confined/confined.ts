import { type ChildProcess, spawn } from 'node:child_process'
import { Duplex, type Readable, type Writable } from 'node:stream'
import { treePath } from '@berth/supervisor/tree'
import type { TreePlace, TreeProgram } from '../driver.ts'
import { systemPath } from '../linux/run-program.ts'
import { parentDirectories, systemMounts } from '../linux/system-mounts.ts'
import { UserNamespaceError, withUserNamespace } from '../linux/user-namespace.ts'
import { systemCallFilter } from '../seccomp/filter.ts'
import type { HelperBounds } from './helper-bounds.ts'
import { helperCommand } from './helper-group.ts'

/** The program, running. */
export interface Confined {
  readonly input: Writable
  readonly output: Readable
  /** Resolves with what it said to nobody once it is gone, and the tree no longer held. */
  readonly ended: Promise<string>
  kill(): void
}

/** Standard streams lie below the descriptors that a caller hands down. */
const FIRST_DESCRIPTOR = 3

const inside = { node: '/opt/berth/node', program: '/opt/berth/tree.cjs' } as const
const MAX_SAID = 4096
/** Four threads: two for the cores that compress, the others for input that is waited for. */
const environment = { UV_THREADPOOL_SIZE: '4', PATH: '/usr/sbin:/usr/bin:/sbin:/bin' } as const
const GIB = 1024 ** 3
/**
 * Node ends at its start with less than 1 GiB of private memory, most of which it never touches. Reading writes nothing
 * but the new baseline, which grows with the file list.
 */
const treeBounds = {
  read: { memoryBytes: 3 * GIB, cpuSeconds: 300, fileBytes: GIB },
  write: { memoryBytes: 3 * GIB, cpuSeconds: 600, fileBytes: 16 * GIB },
} as const satisfies Record<string, HelperBounds>
/** A larger young generation saves a tenth of a walk: everything it makes is short-lived. */
const nodeOptions = ['--max-old-space-size=1024', '--min-semi-space-size=16', '--max-semi-space-size=32'] as const

/**
 * Starts the program as the tree's owner in namespaces of its own: no network, no process of the host's or the
 * sandbox's, and of all files the tree, the host's programs and itself. Whatever lies in the tree is met with the rights
 * of whoever put it there, so no link in it leads to anything of the service. To read, the program has one capability,
 * to pass over file modes, because the agent may have closed files to itself; to write it needs none. It does not need
 * the sandbox, which may be frozen or gone, and ends with this process.
 *
 * @param descriptors handed down from 3 on
 */
export function startConfined(
  program: TreeProgram,
  place: TreePlace,
  access: 'read' | 'write',
  descriptors: readonly number[],
): Promise<Confined> {
  return confine({
    ...(program.bwrap !== undefined && { bwrap: program.bwrap }),
    ...(place.uid !== undefined && { uid: place.uid }),
    readsAll: access === 'read',
    bounds: treeBounds[access],
    environment,
    directories: [inside.node],
    mounts: [
      ...['--ro-bind', program.nodePath, inside.node, '--ro-bind', program.programPath, inside.program],
      ...[access === 'read' ? '--ro-bind' : '--bind', place.path, treePath],
    ],
    command: [inside.node, ...nodeOptions, inside.program],
    descriptors,
  })
}

const NOBODY = 65_534
/** The user of programs that work for no sandbox: owns nothing on any machine. As anybody but root, this process's own. */
export const nobody: { readonly uid?: number } = process.getuid?.() === 0 ? { uid: NOBODY } : {}

/** A command, and all that it is to see beside the host's programs. */
export interface Confinement {
  readonly bwrap?: string
  /** Who it runs as; undefined for this process's own user. */
  readonly uid?: number
  /** Whether it passes over the modes of its own user's files when it reads. */
  readonly readsAll: boolean
  readonly bounds: HelperBounds
  readonly environment: Readonly<Record<string, string>>
  /** Paths inside whose parents must be there. */
  readonly directories: readonly string[]
  /** Mounts in bubblewrap's words. */
  readonly mounts: readonly string[]
  readonly command: readonly string[]
  /** Handed down from 3 on. */
  readonly descriptors?: readonly number[]
}

/**
 * Starts a command in namespaces of its own and under the system-call filter, with nothing of the service but what it is
 * given.
 *
 * As root, bubblewrap makes the mounts with root's rights and then enters a user namespace that knows the command's uid
 * alone, so no capability of the command counts for a file of anybody else. Where this host makes no such namespace the
 * command runs without any capability, and cannot read what its user has closed to itself.
 */
export async function confine(confinement: Confinement): Promise<Confined> {
  const { uid, bounds } = confinement
  const bounding = await helperCommand(bounds)
  if (uid === undefined) return start(confinement, bounding, undefined)
  try {
    return await withUserNamespace(uid, descriptor => start(confinement, bounding, descriptor))
  } catch (error) {
    if (!(error instanceof UserNamespaceError)) throw error
    return start({ ...confinement, readsAll: false }, bounding, undefined)
  }
}

function start(
  confinement: Confinement,
  [shell = '', ...bounding]: readonly string[],
  userNamespace: number | undefined,
): Confined {
  const { uid, readsAll } = confinement
  // Bubblewrap's own descriptors follow those that the command is handed.
  const descriptors = [...(confinement.descriptors ?? []), ...(userNamespace === undefined ? [] : [userNamespace])]
  const filterDescriptor = FIRST_DESCRIPTOR + descriptors.length
  const privileged = uid !== undefined
  const capability = readsAll ? 'dac_read_search' : undefined
  const keep = [...(privileged ? ['SETUID', 'SETGID', 'SETPCAP'] : []), ...(capability ? ['DAC_READ_SEARCH'] : [])]
  const args = [
    ...['--unshare-pid', '--unshare-ipc', '--unshare-uts', '--unshare-net', '--new-session', '--die-with-parent'],
    ...(privileged ? [] : ['--unshare-user']),
    ...(userNamespace === undefined ? [] : ['--userns2', String(filterDescriptor - 1)]),
    ...['--seccomp', String(filterDescriptor), '--clearenv'],
    ...Object.entries(confinement.environment).flatMap(([name, value]) => ['--setenv', name, value]),
    ...['--cap-drop', 'ALL', ...keep.flatMap(name => ['--cap-add', `CAP_${name}`])],
    ...parentDirectories(confinement.directories),
    ...programMounts(),
    ...['--dev', '/dev'],
    ...confinement.mounts,
    ...['--remount-ro', '/', '--'],
    ...(privileged ? dropTo(String(uid), capability) : []),
    ...(userNamespace === undefined ? [] : closing(filterDescriptor - 1)),
    ...confinement.command,
  ]
  const child = spawn(shell, [...bounding, confinement.bwrap ?? 'bwrap', ...args], {
    env: { PATH: systemPath },
    cwd: '/',
    stdio: ['pipe', 'pipe', 'pipe', ...descriptors, 'pipe'],
    detached: true,
  })
  const { stdin, stdout, stderr } = child
  if (stdin === null || stdout === null || stderr === null) throw new Error('no pipes to the program beside the tree')
  // A program that dies early is told of by its end, not by the pipe it no longer reads.
  stdin.on('error', () => undefined)
  const filter: unknown = child.stdio[filterDescriptor]
  if (!(filter instanceof Duplex)) throw new Error('no pipe for the filter of the program beside the tree')
  filter.on('error', () => undefined).end(systemCallFilter())
  return { input: stdin, output: stdout, ended: endOf(child, stderr), kill: () => killGroup(child) }
}

function dropTo(id: string, capability: string | undefined): readonly string[] {
  return [
    ...['setpriv', '--reuid', id, '--regid', id, '--clear-groups', '--no-new-privs', '--bounding-set=-all'],
    ...(capability ? [`--inh-caps=-all,+${capability}`, `--ambient-caps=+${capability}`] : ['--inh-caps=-all']),
    '--',
  ]
}

/** Closes a descriptor that bubblewrap needs and hands down; the shell closes those of one digit. */
const closing = (descriptor: number): readonly string[] => ['sh', '-c', `exec ${descriptor}>&-; exec "$@"`, 'sh']

/** The host's programs and libraries, without its configuration. */
function programMounts(): readonly string[] {
  const mounts = systemMounts()
  const kept: string[] = []
  for (let at = 0; at < mounts.length; at += 3) {
    if (mounts[at + 2]?.startsWith('/etc/') === false) kept.push(...mounts.slice(at, at + 3))
  }
  return kept
}

/**
 * Kills bubblewrap's outer process together with its inner one. Before the inner one has asked to end with the outer, it
 * waits for a word from it that nothing else wakes it from; once it has, they need not be in one group any more.
 */
function killGroup(child: ChildProcess): void {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return
  try {
    process.kill(-child.pid, 'SIGKILL')
  } catch {
    child.kill('SIGKILL')
  }
}

async function endOf(child: ChildProcess, errors: Readable): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  let said = ''
  errors.setEncoding('utf8').on('data', (text: string) => {
    if (said.length < MAX_SAID) said += text
  })
  child.on('error', reject)
  child.on('close', (code, signal) => resolve(`${signal ?? code} ${said.slice(0, MAX_SAID).trim()}`.trim()))
  return promise
}
