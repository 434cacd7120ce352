import { scratchPath } from '@berth/sandboxes/lease-program.ts'
import { type ProjectPlace, runInProject } from './run-in-project.ts'

/** Thrown if the files of a checkout could not be made those of a tree. */
export class PlaceTreeFailed extends Error {
  override readonly name = 'PlaceTreeFailed'
}

/**
 * Makes the files of a checkout those of a tree: every file of the tree is as it says, and those of `before` that it lacks
 * are gone. Other files stay, such as what a package manager has installed. The checkout's repository is not touched.
 *
 * Git trusts no index, so whatever a program has done to the files is found by their content.
 * @throws PlaceTreeFailed, or the signal's reason
 */
export async function placeTree(place: ProjectPlace, signal: AbortSignal): Promise<void> {
  const failure = await runInProject(place, script, {}, signal)
  if (failure !== null) throw new PlaceTreeFailed(failure)
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
