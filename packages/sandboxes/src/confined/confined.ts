import { type ChildProcess, spawn } from 'node:child_process'
import { Duplex, type Readable } from 'node:stream'
import type { HelperBounds } from '../helper-bounds.ts'
import type { ProgramRun } from '../lease-program.ts'
import { systemPath } from '../linux/run-program.ts'
import { parentDirectories, systemMounts } from '../linux/system-mounts.ts'
import { UserNamespaceError, withUserNamespace } from '../linux/user-namespace.ts'
import { systemCallFilter } from '../seccomp/filter.ts'
import { helperCommand } from './helper-group.ts'

/** The first descriptor after the standard streams. */
export const FIRST_DESCRIPTOR = 3

const MAX_ERRORS = 4096
const NOBODY = 65_534
/**
 * The user of programs that work for no sandbox; it owns nothing. If this process is not root, it is this process's own
 * user.
 */
export const nobody: { readonly uid?: number } = process.getuid?.() === 0 ? { uid: NOBODY } : {}

/** A command, and everything that it sees beside the host's programs. */
export interface Confinement {
  readonly bwrap?: string
  /** Words of a command that becomes bubblewrap, with this process's own rights. */
  readonly launcher?: readonly string[]
  /** The uid of the command; undefined for this process's own user. */
  readonly uid?: number
  /** Whether the command may read its own user's files despite their modes. */
  readonly readsAll: boolean
  readonly bounds: HelperBounds
  readonly environment: Readonly<Record<string, string>>
  /** Paths inside whose parents must exist. */
  readonly directories: readonly string[]
  /** Mounts, as arguments of bubblewrap. */
  readonly mounts: readonly string[]
  readonly command: readonly string[]
  /** Passed on from 3 upwards. */
  readonly descriptors?: readonly number[]
  /** Whether the command uses this host's network; only for programs and targets that the operator chose. */
  readonly network?: boolean
}

/**
 * Starts a command in its own namespaces and under the system-call filter. Of the service it sees only the given files.
 * As root, bubblewrap mounts with root's rights and then enters a user namespace that maps only the command's uid, so
 * the command's capability applies to no other user's files. If this host supports no such namespace, the command runs
 * without any capability, and cannot read files that its user has closed to itself.
 */
export async function confine(confinement: Confinement): Promise<ProgramRun> {
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
): ProgramRun {
  const { uid, readsAll } = confinement
  // Bubblewrap's own descriptors follow the command's.
  const descriptors = [...(confinement.descriptors ?? []), ...(userNamespace === undefined ? [] : [userNamespace])]
  const filterDescriptor = FIRST_DESCRIPTOR + descriptors.length
  const privileged = uid !== undefined
  const capability = readsAll ? 'dac_read_search' : undefined
  const keep = [...(privileged ? ['SETUID', 'SETGID', 'SETPCAP'] : []), ...(capability ? ['DAC_READ_SEARCH'] : [])]
  const args = [
    ...['--unshare-pid', '--unshare-ipc', '--unshare-uts', '--new-session', '--die-with-parent'],
    ...(confinement.network === true ? [] : ['--unshare-net']),
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
  const child = spawn(shell, [...bounding, ...(confinement.launcher ?? []), confinement.bwrap ?? 'bwrap', ...args], {
    env: { PATH: systemPath },
    cwd: '/',
    stdio: ['pipe', 'pipe', 'pipe', ...descriptors, 'pipe'],
    detached: true,
  })
  const { stdin, stdout, stderr } = child
  if (stdin === null || stdout === null || stderr === null) throw new Error('the confined program has no pipes')
  // If the program dies early, its exit reports that, not the broken pipe.
  stdin.on('error', () => undefined)
  const filter: unknown = child.stdio[filterDescriptor]
  if (!(filter instanceof Duplex)) throw new Error('the confined program has no pipe for its system-call filter')
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

/** Closes a descriptor that bubblewrap needs and passes on. The shell can close only those of one digit. */
const closing = (descriptor: number): readonly string[] => ['sh', '-c', `exec ${descriptor}>&-; exec "$@"`, 'sh']

/** Returns mounts of the host's programs and libraries, without its configuration. */
function programMounts(): readonly string[] {
  const mounts = systemMounts()
  const kept: string[] = []
  for (let at = 0; at < mounts.length; at += 3) {
    if (mounts[at + 2]?.startsWith('/etc/') === false) kept.push(...mounts.slice(at, at + 3))
  }
  return kept
}

/**
 * Kills bubblewrap's outer process together with its inner one. Until the inner one has asked to die with the outer, it
 * waits for a message from it and nothing else wakes it. After that they need not share a group.
 */
export function killGroup(child: ChildProcess): void {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return
  try {
    process.kill(-child.pid, 'SIGKILL')
  } catch {
    child.kill('SIGKILL')
  }
}

/** Resolves with a program's exit code or signal, and the beginning of its error output. */
export async function endOf(child: ChildProcess, errors: Readable): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  let printed = ''
  errors.setEncoding('utf8').on('data', (text: string) => {
    if (printed.length < MAX_ERRORS) printed += text
  })
  child.on('error', reject)
  child.on('close', (code, signal) => resolve(`${signal ?? code} ${printed.slice(0, MAX_ERRORS).trim()}`.trim()))
  return promise
}
