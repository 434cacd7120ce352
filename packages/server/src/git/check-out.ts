import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { insidePaths } from '../sandboxes/bubblewrap/options.ts'
import { confine } from '../sandboxes/confined/confined.ts'
import type { TreePlace } from '../sandboxes/driver.ts'
import { confinedGitEnvironment } from './git-environment.ts'
import { gitText } from './run-git.ts'

/** The repository could not be put into the workspace. */
export class CheckOutFailed extends Error {
  override readonly name = 'CheckOutFailed'
  /** The repository holds what git refuses to write into a working tree; trying again changes nothing. */
  readonly refused: boolean

  constructor(said: string) {
    super(`the checkout failed: ${said}`)
    this.refused = /invalid path|unable to create (file|symlink).*(exists|too long)/i.test(said)
  }
}

export interface CheckOut {
  /** Bare, holds the commit; its objects are borrowed, not copied. */
  readonly mirror: string
  /** The workspace that gets it, as `project`. */
  readonly workspace: TreePlace
  readonly branch: string
  readonly oid: string
  /** Where `origin` is; carries no credential. Null where nothing serves it: `origin` then names what was tracked. */
  readonly originUrl: string | null
  /** Name or path of the bubblewrap program. */
  readonly bwrap?: string
}

const TIMEOUT_MS = 10 * 60_000
const GIB = 1024 ** 3

/**
 * Puts a commit into a workspace as a clone would, on its branch, with the mirror's objects borrowed the way
 * `git clone --shared` does.
 *
 * Git runs as the workspace's owner in namespaces of its own, without network, and sees the workspace, the mirror's
 * objects and the host's programs: whatever a repository makes it do, it can do to that workspace alone. And it does
 * nothing but write files: the configuration is the one written here, so there are no hooks, filters or submodules.
 * @throws CheckOutFailed, or the signal's reason
 */
export async function checkOut(order: CheckOut, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted()
  const { mirror, workspace, branch, oid, originUrl } = order
  const refs = await packedRefs(mirror, branch, oid, signal)
  const { uid } = workspace
  const program = await confine({
    ...(order.bwrap !== undefined && { bwrap: order.bwrap }),
    ...(uid !== undefined && { uid }),
    readsAll: false,
    bounds: { memoryBytes: GIB, cpuSeconds: TIMEOUT_MS / 1000, fileBytes: 16 * GIB },
    environment: {
      ...confinedGitEnvironment,
      LC_ALL: 'C.UTF-8',
      BRANCH: branch,
      ORIGIN: originUrl ?? '',
      OBJECTS: insidePaths.objects,
    },
    directories: ['/workspace/x', insidePaths.objects],
    mounts: ['--bind', workspace.path, '/workspace', '--ro-bind', join(mirror, 'objects'), insidePaths.objects],
    command: ['bash', '-c', script],
  })
  const stop = () => program.kill()
  const bound = AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)])
  bound.addEventListener('abort', stop, { once: true })
  if (bound.aborted) stop()
  try {
    program.input.end(refs)
    const output = text(program.output)
    const said = await program.ended
    signal.throwIfAborted()
    if (said !== '0') throw new CheckOutFailed(`${said} ${await output}`.trim())
  } finally {
    bound.removeEventListener('abort', stop)
  }
}

/** Several working files are written at once where there are many. An agent that commits finds a name to do it under. */
const script = `
set -eu
umask 022
rm -rf /workspace/project
git init --quiet --template= --initial-branch="$BRANCH" /workspace/project
cd /workspace/project
mkdir -p .git/info
printf '%s\\n' "$OBJECTS" > .git/objects/info/alternates
cat > .git/packed-refs
git config user.name agent
git config user.email agent@localhost
[ -z "$ORIGIN" ] || git config remote.origin.url "$ORIGIN"
git config remote.origin.fetch '+refs/heads/*:refs/remotes/origin/*'
git config "branch.$BRANCH.remote" origin
git config "branch.$BRANCH.merge" "refs/heads/$BRANCH"
exec git -c checkout.workers=0 -c core.hooksPath=/dev/null -c core.fsmonitor=false reset --quiet --hard
`

/** The clone's refs, as git packs them: the branch, what it tracks, and the tags of its history. */
async function packedRefs(mirror: string, branch: string, oid: string, signal: AbortSignal): Promise<string> {
  const format = ['for-each-ref', `--merged=${oid}`, '--format=%(objectname) %(refname)', 'refs/tags']
  const tags = await gitText(format, { gitDir: mirror, signal })
  const refs = [`${oid} refs/heads/${branch}`, `${oid} refs/remotes/origin/${branch}`, ...tags.split('\n')]
  return `${refs.filter(line => line !== '').join('\n')}\n`
}
