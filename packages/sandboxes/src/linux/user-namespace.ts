import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync, writeFileSync } from 'node:fs'
import { Socket } from 'node:net'
import { systemPath } from './run-program.ts'

/** Namespaces that stay open for reuse. One costs a descriptor; making one costs two processes. */
const MAX_KEPT = 128

/** Open namespaces by uid, the most recently used last. */
const kept = new Map<number, number>()

/**
 * Calls `use` with a descriptor of a user namespace that maps one uid, and the gid of the same number, to themselves. A
 * capability held there applies only to files of that uid and gid. Calls that need it in the initial namespace, such as
 * `open_by_handle_at`, are refused. Only root can make such a namespace. `use` passes the descriptor to a process and
 * does not wait: it may be closed as soon as `use` has returned.
 * @throws UserNamespaceError if this host cannot make one
 */
export async function withUserNamespace<T>(uid: number, use: (descriptor: number) => T): Promise<T> {
  // No other code runs between this and the call of `use`, so nothing closes the descriptor in between.
  const descriptor = kept.get(uid) ?? (await make(uid))
  const other = kept.get(uid)
  if (other !== undefined && other !== descriptor) closeSync(other)
  kept.delete(uid)
  kept.set(uid, descriptor)
  for (const [oldest, its] of kept) {
    if (kept.size <= MAX_KEPT) break
    kept.delete(oldest)
    closeSync(its)
  }
  return use(descriptor)
}

/** This host cannot make user namespaces, for instance because `user.max_user_namespaces` is 0. */
export class UserNamespaceError extends Error {
  override readonly name = 'UserNamespaceError'
}

/** A user namespace without a mapping, and the process that holds it. */
export interface UnmappedNamespace {
  /** Maps a uid to itself, as `withUserNamespace` does. Returns a path to the namespace that works until `release`. */
  map(uid: number): string
  /** Maps its users from root on to `count` uids from `first` on. Returns a path as `map` does. */
  mapRange(first: number, count: number): string
  /** Ends the holder, and with it the namespace, unless a process is in it or a descriptor of it is open. */
  release(): void
}

/** Runs inside the new namespace: it reports that it is there, and waits to be released. */
const WAIT = 'echo made; read -r _'

async function make(uid: number): Promise<number> {
  const namespace = await makeUserNamespace()
  try {
    return openSync(namespace.map(uid), 'r')
  } finally {
    namespace.release()
  }
}

/**
 * Makes a user namespace ahead of demand.
 * @throws UserNamespaceError if this host cannot make one
 */
export async function makeUserNamespace(): Promise<UnmappedNamespace> {
  const child = spawn('unshare', ['--user', 'sh', '-c', WAIT], {
    env: { PATH: systemPath, LC_ALL: 'C' },
    cwd: '/',
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  const ended = new Promise<void>(resolve => {
    child.once('close', () => resolve())
    child.once('error', () => resolve())
  })
  child.stdin.on('error', () => undefined)
  const message = await firstLine(child, ended)
  if (message !== '') {
    child.stdin.end()
    throw new UserNamespaceError(`this host cannot make user namespaces: ${message}`)
  }
  // A waiting holder must not keep the process alive.
  child.unref()
  for (const stream of [child.stdin, child.stdout, child.stderr]) if (stream instanceof Socket) stream.unref()
  const write = (map: string) => {
    for (const file of ['uid_map', 'gid_map']) writeFileSync(`/proc/${child.pid}/${file}`, map)
    return `/proc/${child.pid}/ns/user`
  }
  return {
    map: uid => write(`${uid} ${uid} 1`),
    mapRange: (first, count) => write(`0 ${first} ${count}`),
    release: () => void child.stdin.end(),
  }
}

/**
 * Waits until the process is in its namespace.
 * @returns an empty text, or the error output if it failed
 */
async function firstLine(child: ChildProcess, ended: Promise<void>): Promise<string> {
  let errors = ''
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    errors = (errors + text).slice(0, 1000)
  })
  const { stdout } = child
  if (stdout === null) return 'it has no output'
  const made = await Promise.race([once(stdout, 'data').then(() => true), ended.then(() => false)])
  return made ? '' : errors.trim() || 'unshare did not start'
}
