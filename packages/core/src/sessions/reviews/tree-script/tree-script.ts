import { insidePaths } from '@berth/sandboxes/inside-paths.ts'
import { scratchPath } from '@berth/sandboxes/lease-program.ts'
import { agentIndex, skippedFiles } from './agent-index.ts'
import { filteredFiles, setFilteredApart } from './filtered-files.ts'
import { lowerFiles } from './lower-files.ts'
import { nestedRepositories, ownWorktrees } from './nested-repositories.ts'
import { noteFunctions } from './notes.ts'
import { untouchedFiles } from './untouched-files.ts'

/** Makes entries of an index out of changes. Those that are gone come first: one may lie where others have a directory. */
const entriesOfChanges = String.raw`
  $/ = "\0"; my ($gone, $there) = ("", "");
  while (defined(my $head = <STDIN>)) {
    my $path = <STDIN>; chomp $head;
    my (undef, $mode, undef, $oid, $status) = split / /, $head;
    if ($status eq "D") { $gone .= "0 $oid\t$path" } else { $there .= "$mode $oid\t$path" }
  }
  print $gone, $there;`

/**
 * Writes the tree of the project, and prints its id and a pack of the objects that the base tree lacks. It reads
 * the id of the base tree, which is the tree of the pinned commit, from standard input. Its error output holds notes
 * for people if it succeeds, and the reason if it fails.
 *
 * Files are compared by their content. The project's own `.git` is read as data: its index tells which ignored files
 * are tracked, which files a sparse checkout leaves out and in which form a filter stored a file. `info/exclude` tells
 * which other files are ignored. Of the configuration only the names of filters are read. No filter or hook runs. Of a
 * submodule the script reads only the HEAD and the remote branches. It takes submodules out of the index before `add`, which would otherwise start git
 * inside them for their status, with the configuration that lies there.
 *
 * The script leaves out paths that no tree of git's can hold: sockets and paths into a repository. Any other path that
 * git cannot take ends the script with git's words, such as a file that is not in the encoding of its attributes: the
 * tree is whole, or there is none. Only git's exit codes and its lines of errors count; a warning is a note.
 *
 * The tree is made of the base's index and what differs. Where git has marked a file or read it anew, it forgets that the
 * directories above are those of a tree, and would write them again: five seconds for 100,000 files.
 */
export const treeScript = `
set -eu
export LC_ALL=C
${noteFunctions}
cannot() {
  printf '%s\\n' "$1" | printable | head -c 4000 >&2
  exit 1
}
refuse() {
  head -c 4000 "$2" >&2
  exit "$1"
}
left_out="^error: '.*' does not have a commit checked out|^error: invalid path |: can only add regular files, |No such file or directory$"
left_out="$left_out|^error: unable to (add|index) "
: > ${scratchPath}/notes
: > ${scratchPath}/warned
# Git warns in many places. Only at the end is it known whether its words are notes or the reason of a failure.
exec 3>&2 2> ${scratchPath}/errors
trap 'code=$?; [ "$code" -eq 0 ] || head -c 4000 ${scratchPath}/errors >&3' EXIT
cd ${scratchPath}
[ -d ${insidePaths.project} ] && [ ! -L ${insidePaths.project} ] || { echo 'no project' >&2; exit 3; }
cd ${insidePaths.project}
${agentIndex}
IFS= read -r base
git ls-tree -r -z "$base" > ${scratchPath}/before &
listing=$!
git read-tree "$base"
cp "$GIT_INDEX_FILE" ${scratchPath}/made-of
wait "$listing"
grep -z '^160000 ' ${scratchPath}/before > ${scratchPath}/links || :
if [ -s ${scratchPath}/links ]; then
  sed -z 's/^160000 commit \\([0-9a-f]*\\)\\t/0 \\1\\t/' ${scratchPath}/links | git update-index -z --index-info
fi
${setFilteredApart}
${lowerFiles}
${ownWorktrees}
added=0
git add -A --ignore-errors --no-warn-embedded-repo . "\${apart[@]}" 2> ${scratchPath}/complaints || added=$?
[ "$added" -le 1 ] || refuse "$added" ${scratchPath}/complaints
if [ "$added" -eq 1 ] && grep -E '^(error|fatal): ' ${scratchPath}/complaints | grep -Ev "$left_out" > ${scratchPath}/refused; then
  refuse 1 ${scratchPath}/refused
fi
grep -E '^error: invalid path |: can only add regular files, ' ${scratchPath}/complaints | sed 's/^error: /git: left out: /' >> ${scratchPath}/notes || :
grep -Ev '^(error|fatal|hint): |^warning: in the working copy of' ${scratchPath}/complaints >> ${scratchPath}/warned || :
if [ -s ${scratchPath}/links ]; then
  while IFS= read -r -d '' entry; do
    path=\${entry#*$'\\t'}
    if [ -d "$path" ] && [ ! -L "$path" ] && [ -z "$(git ls-files -- ":(top,literal)$path" | head -c 1)" ]; then
      printf '%s\\0' "$entry"
    fi
  done < ${scratchPath}/links > ${scratchPath}/kept
  [ ! -s ${scratchPath}/kept ] || git update-index -z --index-info < ${scratchPath}/kept
fi
${nestedRepositories}
read_theirs
if [ -s ${scratchPath}/their-entries ]; then
  sed -z -n '/^S /!s/^[^\\t]*\\t//p' ${scratchPath}/their-entries | sort -zu > ${scratchPath}/their-names
  git ls-files -z > ${scratchPath}/ours
  comm -z -13 ${scratchPath}/ours ${scratchPath}/their-names > ${scratchPath}/more 2>/dev/null || :
  while IFS= read -r -d '' path; do
    if [ -f "$path" ] || [ -L "$path" ] || [ -d "$path" ] && is_inside "$path"; then printf '%s\\0' "$path"; fi
  done < ${scratchPath}/more > ${scratchPath}/there
  update_in_halves ${scratchPath}/there --add --remove --stdin
fi
${skippedFiles}
git diff-index --cached --raw --no-renames -z "$base" > ${scratchPath}/changes
${filteredFiles}
${untouchedFiles}
git diff-index --cached --raw --no-renames -z "$base" | perl -e '${entriesOfChanges}' > ${scratchPath}/changed-entries
export GIT_INDEX_FILE=${scratchPath}/made-of
git update-index -z --index-info < ${scratchPath}/changed-entries
tree=$(git write-tree)
printf '%s\\n' "$tree"
if [ "$tree" != "$base" ]; then
  packed=0
  printf '%s\\n^%s\\n' "$tree" "$base" | git pack-objects --revs --stdout --quiet --window=0 --threads=1 2> ${scratchPath}/complaints || packed=$?
  [ "$packed" -eq 0 ] || refuse "$packed" ${scratchPath}/complaints
  cat ${scratchPath}/complaints >> ${scratchPath}/warned
fi
report_notes >&3
`
