import { spawn } from 'node:child_process'
import { chmod, type FileHandle, mkdir, readdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { endOf, killGroup } from '../../confined/confined.ts'
import { treeCommand } from '../../confined/directory-tree.ts'
import { endWithin } from '../../confined/lease-script.ts'
import { assertPathBelow } from '../../confined/path-below.ts'
import { boundedCommand, type HelperBounds } from '../../helper-bounds.ts'
import type { LeaseScript, ProgramRun, ProgramScratch, TreeAccess, TreeName } from '../../lease-program.ts'
import { createKeyedLock } from '../../linux/keyed-lock.ts'
import { signalAll } from './container-processes.ts'
import type { FilesPlace } from './files-calls.ts'

/** Starts the programs of a lease in the container that has its files. */
export interface PartPrograms {
  tree(tree: TreeName, access: TreeAccess, handles: readonly FileHandle[]): Promise<ProgramRun>
  script(script: LeaseScript): Promise<ProgramRun>
}

export function openPartPrograms({ nodePath, treePath, scratch, ...trees }: FilesPlace): PartPrograms {
  const locked = createKeyedLock()
  let running = 0

  /** Starts a program. When none runs any more, neither does anything that one has left. */
  const start = (
    command: readonly string[],
    bounds: HelperBounds,
    env: Readonly<Record<string, string>>,
    descriptors: readonly number[] = [],
  ): ProgramRun => {
    const [shell = '', ...args] = [...boundedCommand(bounds, []), ...command]
    const child = spawn(shell, args, {
      cwd: '/',
      env,
      stdio: ['pipe', 'pipe', 'pipe', ...descriptors],
      detached: true,
    })
    const { stdin, stdout, stderr } = child
    if (stdin === null || stdout === null || stderr === null) throw new Error('the program has no pipes')
    // If the program dies early, its exit reports that, not the broken pipe.
    stdin.on('error', () => undefined)
    running += 1
    child.once('exit', () => {
      running -= 1
      // At once, so that it hits nothing that starts later.
      if (running === 0) signalAll('SIGKILL')
      else killGroup(child)
    })
    return { input: stdin, output: stdout, ended: endOf(child, stderr), kill: () => killGroup(child) }
  }
  const run = ({ script, bounds, environment }: LeaseScript) => start(['bash', '-c', script], bounds, environment)

  return {
    tree: async (tree, access, handles) => {
      const { command, bounds, environment } = treeCommand(access, nodePath, treePath)
      const descriptors = handles.map(({ fd }) => fd)
      return start([...command, trees[tree]], bounds, environment, descriptors)
    },
    async script(script) {
      const { scratch: wanted } = script
      if (wanted === undefined) return run(script)
      for (const path of [...wanted.directories, ...Object.keys(wanted.files)]) assertPathBelow(path)
      // All scripts have their directory at the same path, so one waits for the other.
      const started = Promise.withResolvers<ProgramRun>()
      locked('scratch', async () => {
        await fillScratch(scratch, wanted)
        const program = run(script)
        const ended = endWithin(program, scratch, wanted.bytes)
        started.resolve({ ...program, ended })
        await ended.catch(() => undefined)
        await empty(scratch)
      }).catch(started.reject)
      return await started.promise
    },
  }
}

async function fillScratch(scratch: string, { directories, files }: ProgramScratch): Promise<void> {
  await empty(scratch)
  for (const path of directories) await mkdir(join(scratch, path), { mode: 0o700 })
  for (const [name, content] of Object.entries(files)) await writeFile(join(scratch, name), content)
}

/** Removes the content of the directory, which is a mount. */
async function empty(scratch: string): Promise<void> {
  for (const name of await readdir(scratch)) {
    const path = join(scratch, name)
    await rm(path, { recursive: true, force: true }).catch(async () => {
      await chmod(path, 0o700)
      await rm(path, { recursive: true, force: true })
    })
  }
}
