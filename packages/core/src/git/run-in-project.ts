import { addAbortListener } from 'node:events'
import type { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { pipeline } from 'node:stream/promises'
import { insidePaths } from '@berth/sandboxes/inside-paths.ts'
import { hasSucceeded, type LeaseScript, type ProgramRun, scratchPath } from '@berth/sandboxes/lease-program.ts'
import { confinedGitEnvironment } from './git-environment.ts'

/** A checkout whose files are to become those of another tree. */
export interface ProjectPlace {
  /** Starts a script at the files of the sandbox, whose workspace has the checkout as `project`. */
  readonly run: (script: LeaseScript) => Promise<ProgramRun>
  /** Id for the sandbox of the mirror's objects. */
  readonly objects: string
  /** The tree of the checkout's files. */
  readonly before: string
  readonly after: string
  /** What the mirror lacks of the trees. */
  readonly pack: Readable | null
}

interface ProjectScript {
  readonly environment?: Readonly<Record<string, string>>
  readonly config?: string
}

const TIMEOUT_MS = 10 * 60_000
const GIB = 1024 ** 3
const directories = ['git', ...['info', 'refs', 'objects', 'objects/info', 'objects/pack'].map(path => `git/${path}`)]

/**
 * Runs a script of git on a checkout's files, with a repository of its own in the scratch directory.
 *
 * Like `checkOut`, git runs as the workspace's owner in namespaces of its own, without network, hooks and filters, and reads
 * no configuration of anybody's. The script finds the trees as BEFORE and AFTER; PACKED is set if a pack comes on its input.
 * @returns null, or how the script failed: it begins with the exit code if git refused
 */
export async function runInProject(
  place: ProjectPlace,
  script: string,
  more: ProjectScript,
  signal: AbortSignal,
): Promise<string | null> {
  const { pack } = place
  const program = await start(place, script, more, signal).catch(error => {
    // Nothing reads it any more, so nothing else closes its file.
    pack?.destroy()
    throw error
  })
  const stop = () => program.kill()
  using _listener = addAbortListener(AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]), stop)
  // A program that has ended takes no more input: its own words say why.
  if (pack === null) program.input.end()
  else void pipeline(pack, program.input).catch(stop)
  const output = text(program.output)
  const outcome = await program.ended
  signal.throwIfAborted()
  return hasSucceeded(outcome) ? null : `${outcome} ${await output}`.trim()
}

async function start(
  { run, objects, before, after, pack }: ProjectPlace,
  script: string,
  more: ProjectScript,
  signal: AbortSignal,
): Promise<ProgramRun> {
  signal.throwIfAborted()
  return run({
    kind: 'script',
    script,
    environment: {
      ...confinedGitEnvironment,
      LC_ALL: 'C.UTF-8',
      GIT_DIR: `${scratchPath}/git`,
      GIT_WORK_TREE: insidePaths.project,
      GIT_INDEX_FILE: `${scratchPath}/index`,
      BEFORE: before,
      AFTER: after,
      PACKED: pack === null ? '' : 'yes',
      ...more.environment,
    },
    trees: { workspace: 'write' },
    readsAll: false,
    objects,
    scratch: {
      directories,
      files: {
        'git/HEAD': 'ref: refs/heads/none\n',
        'git/config': `[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tfsync = none\n\thooksPath = /dev/null\n${more.config ?? ''}`,
        'git/objects/info/alternates': `${insidePaths.objects}\n`,
      },
      bytes: GIB,
    },
    bounds: { memoryBytes: GIB, cpuSeconds: TIMEOUT_MS / 1000, fileBytes: 16 * GIB },
  })
}
