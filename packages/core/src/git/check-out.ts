import { createHash } from 'node:crypto'
import { addAbortListener } from 'node:events'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { emptyTreeOid } from '@berth/contract'
import { progressReport } from '@berth/platform/kit/progress.ts'
import { insidePaths } from '@berth/sandboxes/inside-paths.ts'
import { hasSucceeded, type LeaseScript, type ProgramRun } from '@berth/sandboxes/lease-program.ts'
import { confinedGitEnvironment } from './git-environment.ts'
import { runGit } from './run-git.ts'

/** One git and several that write at once word the same fault differently. */
const unwritable = /invalid path|file name too long|unable to create (file|symlink).*exists/i
const damaged =
  /bad object|bad tree|corrupt|missing (blob|tree)|not a pack|could not (read|parse)|unable to (read|unpack|parse|map)|packfile|inflate/i

/** Thrown if the repository could not be put into the workspace. */
export class CheckOutFailed extends Error {
  override readonly name = 'CheckOutFailed'
  /** Git's line on a path that it cannot write into a working tree, however often it is tried; null if it was not that. */
  readonly refused: string | null
  /** The objects that it read are damaged or missing. */
  readonly broken: boolean

  constructor(message: string) {
    super(`the checkout failed: ${message}`)
    this.refused = message.split('\n').find(line => unwritable.test(line)) ?? null
    this.broken = damaged.test(message)
  }
}

export interface CheckOut {
  /** Starts a script at the files of the sandbox, whose workspace receives the commit as `project`. */
  readonly run: (script: LeaseScript) => Promise<ProgramRun>
  /** Id of the mirror's objects for the sandbox: the clone borrows them and copies none. */
  readonly objects: string
  readonly names: CheckoutNames
  /**
   * Which files `project` has before: none that stay, the commit's own, or those of another commit, as git's index there
   * says. Only what differs between the commits is then looked at: a look at every file takes a second for 100,000.
   */
  readonly files: 'none' | 'own' | { readonly of: string }
  /**
   * Whether the files belong to a tree that sandboxes share. Git then takes a file as unchanged that has the size and
   * the time that its index knows: the owner is another one in each sandbox, and all files would be read otherwise.
   */
  readonly isKept: boolean
}

/** The names that a clone has for a commit. */
export interface CheckoutNames {
  readonly branch: string
  /**
   * URL of `origin`, without a credential. Null if nothing serves it: `origin` then only names the tracked branches.
   */
  readonly originUrl: string | null
  /** The branch, its upstream and the tags of its history, in git's packed form; empty without a commit. */
  readonly refs: Buffer
}

const TIMEOUT_MS = 10 * 60_000
const GIB = 1024 ** 3

/**
 * Puts a commit into a workspace, on its branch, as a clone would, and borrows the mirror's objects as `git clone
 * --shared` does.
 *
 * Git runs as the workspace's owner in namespaces of its own, without network. It sees the workspace, the mirror's
 * objects and the host's programs, so a hostile repository can harm that workspace alone. It only writes files: the
 * script below writes the configuration, so there are no hooks, filters or submodules.
 * @throws CheckOutFailed, or the signal's reason
 */
export async function checkOut(order: CheckOut, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted()
  const { run, objects, names, files, isKept } = order
  const program = await run({
    kind: 'script',
    script,
    environment: {
      ...confinedGitEnvironment,
      LC_ALL: 'C.UTF-8',
      GIT_PROGRESS_DELAY: '1',
      BRANCH: names.branch,
      ORIGIN: names.originUrl ?? '',
      OBJECTS: insidePaths.objects,
      ...(typeof files === 'string' ? { FILES: files } : { FILES: 'other', FROM: files.of }),
      KEPT: isKept ? 'yes' : '',
    },
    trees: { workspace: 'write' },
    readsAll: false,
    objects,
    bounds: { memoryBytes: GIB, cpuSeconds: TIMEOUT_MS / 1000, fileBytes: 16 * GIB },
  })
  using _listener = addAbortListener(AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]), () => program.kill())
  program.input.end(names.refs)
  const output = readOutput(program.output)
  const outcome = await program.ended
  signal.throwIfAborted()
  if (!hasSucceeded(outcome)) throw new CheckOutFailed(`${outcome} ${await output}`.trim())
}

/**
 * Git writes several working files at once if there are many. Names that were there go first: `init` and `config` write
 * them anew.
 */
const script = `
set -eu
umask 022
[ "$FILES" != none ] || rm -rf /workspace/project
[ "$FILES" = none ] || (cd /workspace/project/.git && rm -rf HEAD ORIG_HEAD config packed-refs logs)
git init --quiet --template= --initial-branch="$BRANCH" /workspace/project
cd /workspace/project
mkdir -p .git/info
printf '%s\\n' "$OBJECTS" > .git/objects/info/alternates
cat > .git/packed-refs
if [ -n "$KEPT" ]; then git config core.checkStat minimal; git config feature.manyFiles true; fi
[ -z "$ORIGIN" ] || git config remote.origin.url "$ORIGIN"
git config remote.origin.fetch '+refs/heads/*:refs/remotes/origin/*'
git config "branch.$BRANCH.remote" origin
git config "branch.$BRANCH.merge" "refs/heads/$BRANCH"
[ "$FILES" != own ] || exit 0
if [ "$FILES" = other ]; then set -- read-tree -m -u -v "$FROM" HEAD; else set -- reset --hard; fi
exec git -c checkout.workers=0 -c core.hooksPath=/dev/null -c core.fsmonitor=false "$@" 2>&1 >/dev/null
`

/** Returns what tells names from others. */
export function digestOfNames({ branch, originUrl, refs }: CheckoutNames): string {
  return createHash('sha256')
    .update(JSON.stringify([branch, originUrl]))
    .update(refs)
    .digest('hex')
}

/** Returns git's words, and reports how many files it has written. */
async function readOutput(input: Readable): Promise<string> {
  const report = progressReport()
  const kept: string[] = []
  for await (const line of createInterface({ input })) {
    const [, done, total] = /^Updating files: +\d+% \((\d+)\/(\d+)\)/.exec(line) ?? []
    if (total === undefined) kept.push(line)
    else report({ unit: 'files', done: Number(done), total: Number(total) })
  }
  return kept.join('\n')
}

/**
 * Returns a clone's refs in git's packed form. A tag's name keeps its bytes, in whatever encoding.
 * @param mirror bare repository of the service that holds the commit
 * @param oid the commit, or the empty tree: the branch then has no commit either
 */
export async function packedRefs(mirror: string, branch: string, oid: string, signal: AbortSignal): Promise<Buffer> {
  if (oid === emptyTreeOid) return Buffer.alloc(0)
  const format = ['for-each-ref', `--merged=${oid}`, '--format=%(objectname) %(refname)', 'refs/tags']
  const { stdout: tags } = await runGit(format, { gitDir: mirror, signal })
  return Buffer.concat([Buffer.from(`${oid} refs/heads/${branch}\n${oid} refs/remotes/origin/${branch}\n`), tags])
}
