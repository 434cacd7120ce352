import { spawn } from 'node:child_process'
import { addAbortListener, once } from 'node:events'
import { lstatSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { signalGroup } from '../signal-group.ts'
import type { CloneEnd, CloneEntry, CloneOrder, CloneState } from './protocol.ts'

const AT_ONCE = 4
/** Time between TERM, at which git removes what it began, and KILL; less than a worker gives this program. */
const GRACE_MS = 500

/**
 * Settings of the clones alone. A repository runs nothing here: no hook of a template, no filter that the home
 * configures, no submodule's URL. What is checked out of LFS stays a pointer.
 */
const settings = ['core.hooksPath=/dev/null', 'filter.lfs.required=false', 'filter.lfs.smudge=', 'filter.lfs.process=']
const options = ['--quiet', '--filter=blob:none', '--no-recurse-submodules', '--template=', '--origin=origin']
const environment = { GIT_TERMINAL_PROMPT: '0', GIT_LFS_SKIP_SMUDGE: '1', GIT_ALLOW_PROTOCOL: 'http:https' }

/**
 * Clones repositories without blobs, four at once. The first failure stops the others. A path at which anything is, a
 * dangling link too, is left alone.
 * @param tell takes what git says, by lines
 * @param stop ends all clones
 */
export async function cloneRepositories(
  { directory, repositories, timeoutMs }: CloneOrder,
  report: (line: string) => void,
  stop: AbortSignal,
): Promise<CloneEnd> {
  const states: CloneState[] = repositories.map(({ path }) => (exists(join(directory, path)) ? 'kept' : null))
  const missing = [...repositories.entries()].filter(([index]) => states[index] === null)
  const late = AbortSignal.timeout(timeoutMs)
  const failed = new AbortController()
  const ending = AbortSignal.any([stop, late, failed.signal])
  const work = async () => {
    for (let next = missing.shift(); next !== undefined && !ending.aborted; next = missing.shift()) {
      const [index, entry] = next
      const isCloned = await clone(join(directory, entry.path), entry, report, ending)
      // What a failure or an order has stopped has not failed itself.
      if (isCloned) states[index] = 'cloned'
      else if (!failed.signal.aborted && !stop.aborted) states[index] = 'failed'
      if (!isCloned && !late.aborted) failed.abort()
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, work))
  return { states }
}

function exists(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined
}

/** Clones one repository in a process group of its own. @returns false if git failed or was stopped */
async function clone(
  target: string,
  { url, branch, path }: CloneEntry,
  report: (line: string) => void,
  stop: AbortSignal,
): Promise<boolean> {
  const args = [
    ...settings.flatMap(setting => ['-c', setting]),
    'clone',
    ...options,
    ...(branch === undefined ? [] : [`--branch=${branch}`]),
    ...['--', url, target],
  ]
  report(`cloning ${url} into ${path}`)
  const child = spawn('git', args, {
    detached: true,
    env: { ...process.env, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const outputs = [child.stdout, child.stderr].map(stream => reportLines(stream, line => report(`${path}: ${line}`)))
  const exit = once(child, 'close').then(
    () => undefined,
    (error: Error) => report(`${path}: ${error.message}`),
  )
  const { promise: stopped, resolve } = Promise.withResolvers<'stopped'>()
  using _listener = addAbortListener(stop, () => resolve('stopped'))
  if ((await Promise.race([exit, stopped])) === 'stopped') {
    signalGroup(child.pid, 'SIGTERM')
    const over = new AbortController()
    await Promise.race([exit, sleep(GRACE_MS, undefined, { signal: over.signal }).catch(() => undefined)])
    over.abort()
    signalGroup(child.pid, 'SIGKILL')
    await exit
  }
  await Promise.all(outputs)
  return child.exitCode === 0
}

async function reportLines(stream: Readable, report: (line: string) => void): Promise<void> {
  for await (const line of createInterface({ input: stream })) report(line)
}
