import type { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { pipeline } from 'node:stream/promises'
import { insidePaths } from '@berth/sandboxes/inside-paths.ts'
import { hasSucceeded, type LeaseScript, type ProgramRun, scratchPath } from '@berth/sandboxes/lease-program.ts'
import { confinedGitEnvironment } from './git-environment.ts'

/** Thrown if git refused to write a merge into a workspace; the same merge would fail again. */
export class PlaceMergeRefused extends Error {
  override readonly name = 'PlaceMergeRefused'
}

export interface MergePlace {
  /** Starts a script at the files of the sandbox, whose workspace has the checkout as `project`. */
  readonly run: (script: LeaseScript) => Promise<ProgramRun>
  /** Id for the sandbox of the mirror's objects. */
  readonly objects: string
  /** The tree of the checkout's files. */
  readonly before: string
  readonly after: string
  /** What the mirror lacks of both trees. */
  readonly pack: Readable | null
  /** What the checkout's repository is to take for the tip of a branch of `origin`; null: it stays as it is. */
  readonly upstream: { readonly branch: string; readonly oid: string } | null
}

const TIMEOUT_MS = 10 * 60_000
const GIB = 1024 ** 3
const directories = ['git', ...['info', 'refs', 'objects', 'objects/info', 'objects/pack'].map(path => `git/${path}`)]

/**
 * Gives the paths that differ between two trees what the second one holds, and leaves all others alone. Done again, from
 * wherever it was stopped, it comes to the same end.
 *
 * Like `checkOut`, git runs as the workspace's owner in namespaces of its own, without network, hooks and filters. It
 * reads nothing of the checkout's repository. Of that only a remote-tracking ref moves, and only if the repository borrows
 * the mirror's objects, which hold the commit.
 * @throws PlaceMergeRefused, Error, or the signal's reason
 */
export async function placeMerge(place: MergePlace, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted()
  const { run, objects, before, after, pack, upstream } = place
  const program = await run({
    kind: 'script',
    script,
    environment: {
      ...confinedGitEnvironment,
      LC_ALL: 'C.UTF-8',
      GIT_DIR: `${scratchPath}/git`,
      GIT_WORK_TREE: insidePaths.project,
      GIT_INDEX_FILE: `${scratchPath}/index`,
      OBJECTS: insidePaths.objects,
      BEFORE: before,
      AFTER: after,
      PACKED: pack === null ? '' : 'yes',
      UPSTREAM: upstream === null ? '' : `.git/refs/remotes/origin/${upstream.branch}`,
      UPSTREAM_OID: upstream?.oid ?? '',
    },
    trees: { workspace: 'write' },
    readsAll: false,
    objects,
    scratch: {
      directories,
      files: {
        'git/HEAD': 'ref: refs/heads/none\n',
        'git/config':
          '[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tfsync = none\n\thooksPath = /dev/null\n\tfsmonitor = false\n\tprotectHFS = true\n\tprotectNTFS = true\n',
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
    if (hasSucceeded(outcome)) return
    const message = `${outcome} ${await output}`.trim()
    throw /^\d/.test(outcome) ? new PlaceMergeRefused(message) : new Error(`a merge was not placed: ${message}`)
  } finally {
    bound.removeEventListener('abort', stop)
  }
}

/**
 * Attributes decide how git writes a file, so those of the tree are in place before the others. A path that is gone may be
 * a directory by now, of a submodule or of what came in its place.
 */
const script = `
set -eu
umask 022
cd ${scratchPath}
[ -z "$PACKED" ] || git index-pack --stdin > packed
git diff-tree -r -z --no-renames --diff-filter=D --name-only "$BEFORE" "$AFTER" > gone
git diff-tree -r -z --no-renames --diff-filter=d --name-only "$BEFORE" "$AFTER" > there
git read-tree "$AFTER"
cd "$GIT_WORK_TREE"
if [ -s ${scratchPath}/gone ]; then
  while IFS= read -r -d '' path; do
    if [ -L "$path" ] || [ -f "$path" ]; then printf '%s\\0' "$path"; fi
  done < ${scratchPath}/gone | xargs -0 -r rm -f --
  while IFS= read -r -d '' path; do
    if [ -d "$path" ] && [ ! -L "$path" ]; then printf '%s\\0' "$path"; fi
    case $path in */*) printf '%s\\0' "\${path%/*}" ;; esac
  done < ${scratchPath}/gone | sort -zu | xargs -0 -r rmdir -p --ignore-fail-on-non-empty -- 2> /dev/null || :
fi
{ grep -z '\\(^\\|/\\)\\.gitattributes$' ${scratchPath}/there || :; } | git checkout-index -z -f --stdin
git checkout-index -z -f --stdin < ${scratchPath}/there
if [ -n "$UPSTREAM" ] && [ -d .git ] && [ ! -L .git ] && [ -d .git/refs ] && [ ! -L .git/refs ] &&
  grep -qxF "$OBJECTS" .git/objects/info/alternates 2> /dev/null; then
  { mkdir -p "\${UPSTREAM%/*}" && printf '%s\\n' "$UPSTREAM_OID" > "$UPSTREAM.lock" &&
    mv -f -T "$UPSTREAM.lock" "$UPSTREAM"; } 2> /dev/null || :
fi
`
