import { join } from 'node:path'
import type { SandboxBounds } from '../driver.ts'
import { insidePaths } from '../inside-paths.ts'
import { insideEnvironment } from '../leases/inside-files.ts'
import { hostNames, type LeaseFiles } from '../leases/lease-files.ts'
import { imageBundle, instanceLabel, processLimits } from './engine.ts'
import { optNames, optOf } from './shown-files.ts'

/** The descriptor on which a container waits for its command. Below it are the listener (3) and the journal (4). */
const COMMAND_FD = 5
const SHARED_MEMORY_BYTES = 64 * 1024 * 1024

/**
 * The first process of a container. It waits for one line, the words of the command, and becomes the reaper of everything
 * that loses its parent. It keeps neither listener nor journal, so both end with the supervisor. If the maker dies before
 * it has sent a whole line, the container ends.
 */
const WAIT = 'read -r go <&5 || exit 0; exec 5<&-; n="\n"; eval "set -- $go"; "$@" & exec 3>&- 4>&-; wait $!; exit 0'

/** A container to start, which waits for its command. */
export interface ContainerPlan {
  readonly files: LeaseFiles
  readonly name: string
  /** Tag of the instance. */
  readonly tag: string
  readonly uid: number
  readonly bounds: SandboxBounds
  readonly image: string
  readonly nodePath: string
  readonly closedNodePath: string
  /** Directory of the /etc files that are the same in every sandbox. */
  readonly etcDir: string
  /** Whether the image has a file of authorities, which a file of the lease's then covers. */
  readonly hasAuthorities: boolean
  /** Directories of the host shown read-only at the same path. */
  readonly mounts: readonly string[]
  readonly pidFile: string
}

/** Returns podman's arguments that start the container. */
export function containerArguments(plan: ContainerPlan): readonly string[] {
  const { bounds, files, uid } = plan
  const volumes = [
    [files.workspace, insidePaths.workspace],
    [files.home, insidePaths.home],
    [files.tmp, '/tmp'],
    // A mount of its own, so that the agent, which owns /workspace, cannot rename it.
    [files.platform, insidePaths.platform, 'ro'],
    [files.run, insidePaths.run, 'ro'],
    ...['passwd', 'group'].map(name => [join(files.host, name), `/etc/${name}`, 'ro']),
    ...['hosts', 'nsswitch.conf', 'gitconfig'].map(name => [join(plan.etcDir, name), `/etc/${name}`, 'ro']),
    ...(plan.hasAuthorities ? [[join(files.host, hostNames.authorities), imageBundle, 'ro']] : []),
    // What is mounted below these on the host from now on appears inside.
    ...optNames.map(name => [join(optOf(files), name), `/opt/${name}`, 'ro,rslave']),
    [plan.nodePath, insidePaths.node, 'ro'],
    [plan.closedNodePath, insidePaths.closedNode, 'ro'],
    ...plan.mounts.map(path => [path, path, 'ro']),
  ]
  return [
    ...['run', '--detach', '--pull=never', '--name', plan.name, '--label', `${instanceLabel}=${plan.tag}`],
    ...['--preserve-fds', String(COMMAND_FD - 2), '--pidfile', plan.pidFile, '--log-driver=none'],
    ...['--cgroup-parent', `/${plan.tag}`, '--network=none', '--hostname=berth', '--no-hosts'],
    ...['--read-only', '--read-only-tmpfs=false', '--image-volume=ignore', '--no-healthcheck'],
    ...['--user', `${uid}:${uid}`, '--cap-drop=all'],
    ...['--security-opt=no-new-privileges', '--security-opt=label=disable', '--oom-score-adj=300'],
    ...['--memory', String(Math.floor(bounds.memoryBytes)), '--memory-swap', String(Math.floor(bounds.memoryBytes))],
    ...['--pids-limit', String(bounds.processes), '--cpus', String(bounds.cpus)],
    ...['--shm-size', String(SHARED_MEMORY_BYTES), ...processLimits()],
    ...['--ulimit', `fsize=${Math.floor(bounds.fileSizeBytes)}:${Math.floor(bounds.fileSizeBytes)}`],
    ...['--unsetenv-all', ...Object.entries(insideEnvironment).flatMap(([key, value]) => ['--env', `${key}=${value}`])],
    ...['--workdir', insidePaths.workspace, '--entrypoint', '/bin/sh'],
    ...volumes.flatMap(parts => ['--volume', parts.join(':')]),
    ...[plan.image, '-c', WAIT],
  ]
}

/** Returns the line that turns a waiting container into a sandbox with this command. */
export function commandLine(command: readonly string[]): string {
  return `${command.map(quoted).join(' ')}\n`
}

/** Quotes a word for the waiting shell, in one line whatever it contains. */
const quoted = (word: string): string => `'${word.replaceAll("'", `'\\''`).replaceAll('\n', `'"$n"'`)}'`
