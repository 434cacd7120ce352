import { insidePaths } from '@berth/sandboxes/inside-paths.ts'
import { scratchPath } from '@berth/sandboxes/lease-program.ts'

/** A larger index is not read. */
const MAX_BYTES = 256 * 1024 ** 2

/**
 * Copies the index of the project's own repository, and starts to list it. The index is the agent's, so anything may
 * be in it: git reads it as data, in a repository of the service's, and every entry is checked against the base or the
 * files. An index that git cannot read counts as none.
 *
 * `read_theirs` ends the list: `their-entries` then holds `<tag> <mode> <oid> <stage>`, a tab and the path of each entry,
 * with S as the tag of a file that a sparse checkout leaves out.
 *
 * `update_in_halves` gives git a list from that index. Git takes a list whole or not at all, so a refused one is halved.
 *
 * `obtain` brings blobs that only the agent's repository holds; their ids come from standard input. They travel as a
 * pack that git indexes again, so a false id is found out.
 */
export const agentIndex = `
has_index=
index_changed=0
if [ -d .git ] && [ ! -L .git ]; then
  if [ -f .git/info/exclude ] && [ ! -L .git/info/exclude ] && [ ! -L .git/info ]; then
    head -c 1048576 .git/info/exclude > "$GIT_DIR/info/exclude"
  fi
  if [ -f .git/index ] && [ ! -L .git/index ] && [ "$(stat -c %s .git/index)" -le ${MAX_BYTES} ]; then
    head -c ${MAX_BYTES} .git/index > ${scratchPath}/theirs
    index_changed=$(stat -c %.6Y .git/index | tr -d .)
    for shared in .git/sharedindex.*; do
      if [ -f "$shared" ] && [ ! -L "$shared" ]; then head -c ${MAX_BYTES} "$shared" > ${scratchPath}/reader/"\${shared##*/}"; fi
    done
    has_index=yes
  elif [ -e .git/index ] || [ -L .git/index ]; then
    has_index=unreadable
  fi
fi
their_index() {
  GIT_DIR=${scratchPath}/reader GIT_INDEX_FILE=${scratchPath}/theirs git ls-files -z -t -s "$@" 2> ${scratchPath}/listed
}
# Git reads on beyond the end of an index that was cut off. Its digest may be left out, and is then zero.
is_whole() {
  local digest
  digest=$(tail -c 20 ${scratchPath}/theirs | od -An -v -tx1 | tr -d ' \\n')
  [ "\${#digest}" -eq 40 ] || return 1
  case $digest in *[!0]*) [ "$digest" = "$(head -c -20 ${scratchPath}/theirs | sha1sum | head -c 40)" ] ;; esac
}
listing_theirs=
if [ "$has_index" = yes ]; then
  { is_whole && their_index; } > ${scratchPath}/their-entries &
  listing_theirs=$!
fi

read_theirs() {
  if [ "$has_index" = yes ] && ! wait "$listing_theirs"; then has_index=unreadable; fi
  if [ "$has_index" != yes ]; then : > ${scratchPath}/their-entries; fi
  if [ "$has_index" = unreadable ]; then
    [ ! -e .git/info/sparse-checkout ] || cannot "the project's checkout is sparse, and git's index cannot be read, which alone tells the files that are not checked out"
    note "Git's index in the project cannot be read. Every file was compared by its content."
  fi
  # Git leaves out a directory of a sparse index whose tree it cannot read, and ends well.
  if [ "$has_index" = yes ] && grep -qa sdir ${scratchPath}/theirs && grep -q '^error: ' ${scratchPath}/listed; then
    cannot "the sparse index of the project names directories that its repository does not hold"
  fi
}

update_in_halves() {
  mapfile -d '' listed < "$1"
  update_part 0 "\${#listed[@]}" "\${@:2}"
}
update_part() {
  local from=$1 count=$2 half=$(( $2 / 2 )) code=0
  shift 2
  [ "$count" -gt 0 ] || return 0
  printf '%s\\0' "\${listed[@]:from:count}" > ${scratchPath}/part
  git update-index -z "$@" < ${scratchPath}/part 2> ${scratchPath}/complaints && return || code=$?
  if [ "$count" -gt 1 ]; then
    update_part "$from" "$half" "$@"
    update_part $(( from + half )) $(( count - half )) "$@"
    return
  fi
  # Their index may name anything, even an invalid path; only a present file that git cannot take counts.
  [ "$code" -le 128 ] || refuse "$code" ${scratchPath}/complaints
  ! grep -E '^fatal: (failed to encode|BOM is|Out of memory)|File too large$' ${scratchPath}/complaints > ${scratchPath}/refused || refuse 1 ${scratchPath}/refused
}

obtain() {
  sort -u | git cat-file --batch-check='%(objectname) %(objecttype)' | sed -n 's/ missing$//p' > ${scratchPath}/lacking
  [ -s ${scratchPath}/lacking ] || return 0
  GIT_DIR=${scratchPath}/reader git cat-file --batch-check='%(objectname) %(objecttype)' \\
    < ${scratchPath}/lacking 2>/dev/null | sed -n 's/ blob$//p' > ${scratchPath}/lent
  [ -s ${scratchPath}/lent ] || return 0
  GIT_DIR=${scratchPath}/reader git pack-objects --stdout --quiet --window=0 --threads=1 < ${scratchPath}/lent 2>/dev/null |
    git index-pack --stdin > /dev/null 2>&1 || :
}
`

/** Files of a repository that borrows the objects of the agent's repository. */
export const readerFiles = {
  'reader/HEAD': 'ref: refs/heads/none\n',
  'reader/objects/info/alternates': `${insidePaths.objects}\n${insidePaths.project}/.git/objects\n`,
} as const

/**
 * Gives back the files that the agent's index marks as not checked out and that are not there. Each has the content
 * that the index names, which a merge may have changed; without that content it stays as it is in the base.
 */
export const skippedFiles = `
# Whether nothing lies at a path, nor anything but directories above it.
is_free() {
  local at=$1
  [ ! -e "$at" ] && [ ! -L "$at" ] || return 1
  while [ "$at" != "\${at%/*}" ]; do
    at=\${at%/*}
    [ ! -L "$at" ] || return 1
    if [ -e "$at" ]; then
      [ -d "$at" ]
      return
    fi
  done
}
sed -z -n 's/^S \\([0-7]* [0-9a-f]*\\) 0\\t/\\1\\t/p' ${scratchPath}/their-entries > ${scratchPath}/skipped
if [ -s ${scratchPath}/skipped ]; then
  cut -z -f2- ${scratchPath}/skipped | sort -zu > ${scratchPath}/skipped-names
  git ls-files -z | sort -zu > ${scratchPath}/ours
  comm -z -23 ${scratchPath}/skipped-names ${scratchPath}/ours > ${scratchPath}/gone
  declare -A absent=()
  while IFS= read -r -d '' path; do
    if is_free "$path"; then absent["x$path"]=1; fi
  done < ${scratchPath}/gone
  declare -A base_entry=()
  while IFS= read -r -d '' entry; do
    path=\${entry#*$'\\t'}
    [ -n "\${absent["x$path"]-}" ] || continue
    set -- \${entry%%$'\\t'*}
    base_entry["x$path"]="$1 $3"
  done < ${scratchPath}/before
  sed -n -z 's/^[0-7]* \\([0-9a-f]*\\)\\t.*/\\1/p' ${scratchPath}/skipped | tr '\\0' '\\n' | obtain
  sed -n -z 's/^[0-7]* \\([0-9a-f]*\\)\\t.*/\\1/p' ${scratchPath}/skipped | tr '\\0' '\\n' | sort -u |
    git cat-file --batch-check='%(objectname) %(objecttype)' > ${scratchPath}/types
  declare -A held=()
  while read -r oid type; do [ "$type" != blob ] || held[$oid]=1; done < ${scratchPath}/types
  while IFS= read -r -d '' entry; do
    path=\${entry#*$'\\t'}
    [ -n "\${absent["x$path"]-}" ] || continue
    in_base=\${base_entry["x$path"]-}
    theirs=\${entry%%$'\\t'*}
    if [ "$theirs" != "$in_base" ]; then
      if [ "\${theirs%% *}" = 160000 ] || [ -z "\${held[\${theirs##* }]-}" ]; then
        quote "$path"
        note "Git's index marks $quoted as not checked out, and names content that is not there. It is taken from the base."
        theirs=$in_base
      fi
    fi
    [ -z "$theirs" ] || printf '%s\\t%s\\0' "$theirs" "$path"
  done < ${scratchPath}/skipped > ${scratchPath}/given-back
  update_in_halves ${scratchPath}/given-back --index-info
fi
`
