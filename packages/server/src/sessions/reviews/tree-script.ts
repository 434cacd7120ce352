import { insidePaths } from '../../sandboxes/inside-paths.ts'
import { scratchPath } from '../../sandboxes/lease-program.ts'

/**
 * Writes the tree of the project, and prints its id and a pack of the objects that the base tree lacks. It reads
 * the id of the base tree, which is the tree of the pinned commit, from standard input.
 *
 * The script uses only names from the project's own `.git`: the index tells which ignored files are tracked, and
 * `info/exclude` which others are ignored. It uses none of the configuration, hooks, filters or objects. Of a submodule
 * it reads only the HEAD in its directory. It takes submodules out of the index before `add`, which would otherwise
 * start git inside them for their status, with the configuration that lies there.
 *
 * The script leaves out paths that no tree of git's can hold: sockets, paths into a repository, a nested repository
 * without a commit. Any other path that git cannot take ends the script with git's words, such as a file that is not in
 * the encoding of its attributes: the tree is whole, or there is none.
 */
export const treeScript = `
set -eu
export LC_ALL=C
refuse() {
  head -c 4000 "$2" >&2
  exit "$1"
}
left_out="^error: '.*' does not have a commit checked out|^error: invalid path |: can only add regular files, |No such file or directory$"
left_out="$left_out|^error: unable to (add|index) |^(warning|hint): "
cd ${scratchPath}
[ -d ${insidePaths.project} ] && [ ! -L ${insidePaths.project} ] || { echo 'no project' >&2; exit 3; }
cd ${insidePaths.project}
if [ -d .git ] && [ ! -L .git ]; then
  if [ -f .git/info/exclude ] && [ ! -L .git/info/exclude ] && [ ! -L .git/info ]; then
    head -c 1048576 .git/info/exclude > "$GIT_DIR/info/exclude"
  fi
  if [ -f .git/index ] && [ ! -L .git/index ]; then
    cp .git/index ${scratchPath}/theirs
    for shared in .git/sharedindex.*; do
      [ -f "$shared" ] && [ ! -L "$shared" ] && cp "$shared" "$GIT_DIR/" || :
    done
  fi
fi
theirs=
if [ -f ${scratchPath}/theirs ]; then
  GIT_INDEX_FILE=${scratchPath}/theirs git ls-files -z > ${scratchPath}/their-names 2>/dev/null &
  theirs=$!
fi
IFS= read -r base
git ls-tree -r -z "$base" > ${scratchPath}/before &
listing=$!
git read-tree "$base"
wait "$listing"
grep -z '^160000 ' ${scratchPath}/before > ${scratchPath}/links || :
if [ -s ${scratchPath}/links ]; then
  sed -z 's/^160000 commit \\([0-9a-f]*\\)\\t/0 \\1\\t/' ${scratchPath}/links | git update-index -z --index-info
fi
added=0
git add -A --ignore-errors . 2> ${scratchPath}/said || added=$?
[ "$added" -le 1 ] || refuse "$added" ${scratchPath}/said
if [ "$added" -eq 1 ] && grep -Ev "$left_out" ${scratchPath}/said > ${scratchPath}/refused; then refuse 1 ${scratchPath}/refused; fi
if [ -s ${scratchPath}/links ]; then
  while IFS= read -r -d '' entry; do
    path=\${entry#*$'\\t'}
    if [ -d "$path" ] && [ ! -L "$path" ] && [ -z "$(git ls-files -- ":(top,literal)$path" | head -c 1)" ]; then
      printf '%s\\0' "$entry"
    fi
  done < ${scratchPath}/links > ${scratchPath}/kept
  [ ! -s ${scratchPath}/kept ] || git update-index -z --index-info < ${scratchPath}/kept
fi
if [ -n "$theirs" ] && wait "$theirs"; then
  git ls-files -z > ${scratchPath}/ours
  comm -z -13 ${scratchPath}/ours ${scratchPath}/their-names > ${scratchPath}/more 2>/dev/null || :
  if [ -s ${scratchPath}/more ] && ! git update-index -z --add --remove --stdin < ${scratchPath}/more 2>/dev/null; then
    while IFS= read -r -d '' path; do
      added=0
      git update-index --add --remove -- "$path" 2> ${scratchPath}/said || added=$?
      # Their index may name anything, even an invalid path; only a present file that git cannot take counts.
      [ "$added" -le 128 ] || refuse "$added" ${scratchPath}/said
      if [ "$added" -ne 0 ] && grep -E '^fatal: (failed to encode|BOM is|Out of memory)|File too large$' ${scratchPath}/said > ${scratchPath}/refused; then
        refuse 1 ${scratchPath}/refused
      fi
    done < ${scratchPath}/more
  fi
fi
tree=$(git write-tree)
printf '%s\\n' "$tree"
[ "$tree" = "$base" ] || printf '%s\\n^%s\\n' "$tree" "$base" | git pack-objects --revs --stdout --quiet --window=0 --threads=1
`
