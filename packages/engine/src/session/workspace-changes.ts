import { lstat } from 'node:fs/promises'
import { join, relative, resolve } from 'node:path'
import type { AgentSessionEvent } from '@earendil-works/pi-coding-agent'
import { touchedPaths } from '../tools/files/touched-paths.ts'
import { runProgram } from '../tools/run-program.ts'

const GIT_MS = 30_000
const GIT_BYTES = 16 * 1024 * 1024

/** How a repository's files stood at one moment. */
interface State {
  readonly head: string
  /** What differs from the commit, with what tells one text of a file from another. */
  readonly files: ReadonlyMap<string, string>
}

/**
 * Knows which files have changed since it was made, whoever changed them. In a directory that is in no repository it knows of
 * the files that tools have touched.
 */
export class WorkspaceChanges {
  readonly #cwd: string
  readonly #touched = new Set<string>()
  #before: State | null

  private constructor(cwd: string, before: State | null) {
    this.#cwd = cwd
    this.#before = before
  }

  static async since(cwd: string, signal: AbortSignal): Promise<WorkspaceChanges> {
    return new WorkspaceChanges(cwd, await stateOf(cwd, signal))
  }

  /** Notes which files a tool changes. */
  follow(event: AgentSessionEvent): void {
    if (event.type !== 'tool_execution_start' || event.toolName === 'read') return
    for (const path of touchedPaths(event.toolName, event.args)) {
      this.#touched.add(relative(this.#cwd, resolve(this.#cwd, path)))
    }
  }

  /** Returns the paths that have changed since the last call, from the working directory. */
  async take(signal: AbortSignal): Promise<readonly string[]> {
    const before = this.#before
    const after = await stateOf(this.#cwd, signal)
    this.#before = after
    const touched = [...this.#touched]
    this.#touched.clear()
    if (before === null || after === null) return touched
    const paths = new Set([...before.files.keys(), ...after.files.keys()])
    const changed = [...paths].filter(path => before.files.get(path) !== after.files.get(path))
    if (before.head === after.head) return changed
    const committed = await git(this.#cwd, ['diff', '--name-only', '--relative', '-z', before.head, after.head], signal)
    return [...new Set([...changed, ...namesIn(committed ?? '')])]
  }
}

/** @returns null if there is no repository, or git fails */
async function stateOf(cwd: string, signal: AbortSignal): Promise<State | null> {
  const status = ['status', '--porcelain=v1', '--untracked-files=all', '--no-renames', '-z', '.']
  const shown = await git(cwd, status, signal)
  const prefix = await git(cwd, ['rev-parse', '--show-prefix'], signal)
  if (shown === null || prefix === null) return null
  const head = (await git(cwd, ['rev-parse', '--verify', '--quiet', 'HEAD'], signal))?.trim() ?? emptyTree
  const below = prefix.trimEnd()
  const paths = namesIn(shown).map(entry => entry.slice(3))
  const files = paths.map(async path => {
    const name = path.startsWith(below) ? path.slice(below.length) : path
    const found = await lstat(join(cwd, name)).catch(() => null)
    return [name, found === null ? 'gone' : `${found.mtimeMs}/${found.ctimeMs}/${found.size}`] as const
  })
  return { head, files: new Map(await Promise.all(files)) }
}

/** What a repository without a commit is compared with. */
const emptyTree = '4b825dc642cb6eb9a060e54bf8d69288fbee4904'

const namesIn = (output: string): readonly string[] => output.split('\0').filter(name => name !== '')

async function git(cwd: string, args: readonly string[], signal: AbortSignal): Promise<string | null> {
  const options = { cwd, signal, timeoutMs: GIT_MS, maxBytes: GIT_BYTES }
  const environment = { ...process.env, GIT_OPTIONAL_LOCKS: '0' }
  const ran = await runProgram(['git', ...args], { ...options, environment }).catch(() => null)
  signal.throwIfAborted()
  return ran === null || ran.exitCode !== 0 || ran.truncated ? null : ran.output.toString()
}
