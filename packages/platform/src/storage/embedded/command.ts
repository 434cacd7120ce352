import type { Layout } from './layout.ts'

/** A program of PostgreSQL, ready to spawn. */
export interface Command {
  readonly file: string
  readonly args: readonly string[]
}

/** Paths as the program itself will see them. */
export interface View {
  readonly bin: string
  readonly data: string
  readonly socket: string
}

const mountPoints = ['/run', '/mnt', '/srv', '/opt']

/**
 * Everything below happens in a private mount namespace and ends with the process. The script gets the sources as
 * arguments. A file system mounted over the mount point hides whatever lies below it, so no source may lie there.
 */
const enter = `set -e
at=$1 native=$2 data=$3 socket=$4 uid=$5 signal=$6
shift 6
mount -t tmpfs -o mode=755 berth "$at"
mkdir "$at/pg" "$at/pg/native" "$at/pg/data" "$at/pg/socket"
mount --bind -o ro "$native" "$at/pg/native"
mount --bind "$data" "$at/pg/data"
mount --bind "$socket" "$at/pg/socket"
echo "postgres:x:$uid:$uid::/:/bin/false" > "$at/pg/passwd"
mount --bind "$at/pg/passwd" /etc/passwd
exec setpriv --reuid "$uid" --regid "$uid" --clear-groups --no-new-privs --bounding-set=-all --inh-caps=-all \\
  --pdeathsig "$signal" "$@"`

/**
 * Makes a command that runs a PostgreSQL program on `data`; `deathSignal` ends the program when this process ends.
 *
 * PostgreSQL refuses to run as root, and other users cannot reach a data directory or checkout below a 0700 directory.
 * As root, the command therefore bind-mounts the directories to reachable places in a private mount namespace before it
 * drops the uid. The pid and ipc namespaces stay the host's: PostgreSQL's own interlocks depend on them. Each program
 * replaces the one before it, so the spawned pid is PostgreSQL's and its parent is this process. Propagation is
 * `slave`: no mount in the namespace reaches the host, but an unmount on the host reaches the namespace. With
 * `private`, the server would hold the loop device of every sandbox disk that was mounted when it started.
 */
export function postgresCommand(
  layout: Layout,
  data: string,
  deathSignal: 'INT' | 'KILL',
  build: (view: View) => readonly string[],
): Command {
  if (layout.uid === undefined) {
    // The server works in its data directory, so a relative socket path cannot exceed the length limit.
    const view = { bin: `${layout.native}/bin`, data, socket: '../socket' }
    return { file: 'setpriv', args: ['--no-new-privs', '--pdeathsig', deathSignal, ...build(view)] }
  }
  const sources = [layout.native, data, layout.socket]
  const at = mountPoints.find(point => !sources.some(source => source.startsWith(`${point}/`))) ?? '/run'
  const view = { bin: `${at}/pg/native/bin`, data: `${at}/pg/data`, socket: `${at}/pg/socket` }
  const mounts = [at, layout.native, data, layout.socket, String(layout.uid), deathSignal]
  const args = ['--mount', '--propagation', 'slave', 'sh', '-c', enter, 'berth-postgres', ...mounts, ...build(view)]
  return { file: 'unshare', args }
}

/** PostgreSQL gets nothing of the service's own environment, which holds secrets. */
export const postgresEnvironment = { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', LC_ALL: 'C', TZ: 'UTC' }
