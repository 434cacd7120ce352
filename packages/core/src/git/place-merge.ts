import { insidePaths } from '@berth/sandboxes/inside-paths.ts'
import { scratchPath } from '@berth/sandboxes/lease-program.ts'
import { type ProjectPlace, runInProject } from './run-in-project.ts'

/** Thrown if git refused to write a merge into a workspace; the same merge would fail again. */
export class PlaceMergeRefused extends Error {
  override readonly name = 'PlaceMergeRefused'
}

export interface MergePlace extends ProjectPlace {
  /** What the checkout's repository is to take for the tip of a branch of `origin`; null: it stays as it is. */
  readonly upstream: { readonly branch: string; readonly oid: string } | null
}

const config = '\tfsmonitor = false\n\tprotectHFS = true\n\tprotectNTFS = true\n'

/**
 * Gives the paths that differ between two trees what the second one holds, and leaves all others alone. Done again, from
 * wherever it was stopped, it comes to the same end.
 *
 * Git reads nothing of the checkout's repository. Of that only a remote-tracking ref moves, and only if the repository
 * borrows the mirror's objects, which hold the commit.
 * @throws PlaceMergeRefused, Error, or the signal's reason
 */
export async function placeMerge(place: MergePlace, signal: AbortSignal): Promise<void> {
  const { upstream } = place
  const environment = {
    OBJECTS: insidePaths.objects,
    UPSTREAM: upstream === null ? '' : `.git/refs/remotes/origin/${upstream.branch}`,
    UPSTREAM_OID: upstream?.oid ?? '',
  }
  const failure = await runInProject(place, script, { environment, config }, signal)
  if (failure === null) return
  throw /^\d/.test(failure) ? new PlaceMergeRefused(failure) : new Error(`a merge was not placed: ${failure}`)
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
