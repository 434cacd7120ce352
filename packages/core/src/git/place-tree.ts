import type { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { pipeline } from 'node:stream/promises'
import { insidePaths } from '@berth/sandboxes/inside-paths.ts'
import { hasSucceeded, type LeaseScript, type ProgramRun, scratchPath } from '@berth/sandboxes/lease-program.ts'
import { confinedGitEnvironment } from './git-environment.ts'

/** Thrown if the files of a checkout could not be made those of a tree. */
export class PlaceTreeFailed extends Error {
  override readonly name = 'PlaceTreeFailed'
}

export interface TreePlace {
  /** Starts a script at the files of the sandbox, whose workspace has the checkout as `project`. */
  readonly run: (script: LeaseScript) => Promise<ProgramRun>
  /** Id for the sandbox of the mirror's objects. */
  readonly objects: string
  /** The tree from which the checkout came. */
  readonly before: string
  readonly after: string
  /** The objects of `after` that the mirror lacks. */
  readonly pack: Readable | null
}

const TIMEOUT_MS = 10 * 60_000
const GIB = 1024 ** 3
const head = 'ref: refs/heads/none\n'
const directories = ['git', ...['info', 'refs', 'objects', 'objects/info', 'objects/pack'].map(path => `git/${path}`)]

/**
 * Makes the files of a checkout those of a tree: every file of the tree is as it says, and those of `before` that it lacks
 * are gone. Other files stay, such as what a package manager has installed. The checkout's repository is not touched.
 *
 * Like `checkOut`, git runs as the workspace's owner in namespaces of its own, without network, and reads no configuration
 * of anybody's. It trusts no index, so whatever a program has done to the files is found by their content.
 * @throws PlaceTreeFailed, or the signal's reason
 */
export async function placeTree({ run, objects, before, after, pack }: TreePlace, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted()
  const program = await run({
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
    },
    trees: { workspace: 'write' },
    readsAll: false,
    objects,
    scratch: {
      directories,
      files: {
        'git/HEAD': head,
        'git/config':
          '[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tfsync = none\n\thooksPath = /dev/null\n',
        'git/objects/info/alternates': `${insidePaths.objects}\n`,
      },
      bytes: GIB,
    },
    bounds: { memoryBytes: GIB, cpuSeconds: TIMEOUT_MS / 1000, fileBytes: 16 * GIB },
  })
  const stop = () => program.kill()
  const bound = AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)])
  bound.addEventListener('abort', stop, { once: true })
  if (bound.aborted) stop()
  try {
    // A program that has ended takes no more input: its own words say why.
    if (pack === null) program.input.end()
    else void pipeline(pack, program.input).catch(stop)
    const output = text(program.output)
    const outcome = await program.ended
    signal.throwIfAborted()
    if (!hasSucceeded(outcome)) throw new PlaceTreeFailed(`${outcome} ${await output}`.trim())
  } finally {
    bound.removeEventListener('abort', stop)
  }
}

/**
 * Attributes decide how git writes a file, so those of the tree are in place when the second round looks at the files.
 */
const script = `
set -eu
umask 022
cd ${scratchPath}
[ -z "$PACKED" ] || git index-pack --stdin > packed
mkdir -p "$GIT_WORK_TREE"
git diff-tree -r -z --no-renames --diff-filter=D --name-only "$BEFORE" "$AFTER" > gone
git read-tree "$AFTER"
cd "$GIT_WORK_TREE"
while IFS= read -r -d '' path; do
  rm -rf -- "$path"
  rmdir -p --ignore-fail-on-non-empty -- "$(dirname -- "$path")" 2> /dev/null || :
done < ${scratchPath}/gone
for round in 1 2; do
  git update-index -q --refresh || :
  git diff-files -z --name-only > ${scratchPath}/stale
  git checkout-index -z -f -u --stdin < ${scratchPath}/stale
done
`
