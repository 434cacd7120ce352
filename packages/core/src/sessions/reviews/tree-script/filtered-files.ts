import { scratchPath } from '@berth/sandboxes/lease-program.ts'

/**
 * Keeps files that the base puts behind a filter out of `add`, which would store their content as it is. Their entries
 * stay those of the base until `filteredFiles` decides about them.
 */
export const setFilteredApart = `
filters() {
  git check-attr -z "$@" --stdin filter 2>> ${scratchPath}/warned |
    sed -z -n 'N;N;/\\x00filter\\x00\\(unspecified\\|unset\\|set\\)$/!p'
}
# Whether no directory above a path is a link.
is_inside() {
  local at=$1
  while [ "$at" != "\${at%/*}" ]; do
    at=\${at%/*}
    [ ! -L "$at" ] || return 1
  done
}
declare -A filter_of=()
if sed -z -n 's/^100[0-9]* blob \\([0-9a-f]*\\)\\t\\(.*\\/\\)\\?\\.gitattributes$/\\1/p' ${scratchPath}/before | tr '\\0' '\\n' |
  git cat-file --batch | grep -qa filter; then
  cp ${scratchPath}/index ${scratchPath}/base-index
  git ls-files -z | filters --cached > ${scratchPath}/filtered
  while IFS= read -r -d '' path && IFS= read -r -d '' _ && IFS= read -r -d '' filter; do
    filter_of["x$path"]=$filter
    if [ -f "$path" ] && [ ! -L "$path" ] && is_inside "$path"; then printf '%s\\0' "$path"; fi
  done < ${scratchPath}/filtered > ${scratchPath}/set-apart
  git update-index -z --assume-unchanged --stdin < ${scratchPath}/set-apart
fi
`

/** Most refused paths that are named. */
const NAMED = 10

/**
 * Decides about files behind a filter, none of which runs here. Content that is not in its stored form may be a secret,
 * or large, and is never delivered. A file is
 * - unchanged, if the agent's index holds the base's entry and says that the file has not changed since, or if the base
 *   holds the pointer of Git LFS to exactly this content;
 * - the entry of the agent's index, if the file has not changed since and a filter has made the entry;
 * - its own content, if the Git host has that already, or if it is encrypted by git-crypt;
 * - refused with its path otherwise.
 *
 * Sizes and times to the microsecond are compared, since a restored workspace has other inodes.
 */
export const filteredFiles = `
while IFS= read -r -d '' head && IFS= read -r -d '' path; do
  set -- \${head#:}
  case $2 in 100*) printf '%s\\0' "$path" ;; esac
done < ${scratchPath}/changes > ${scratchPath}/changed-files
declare -A base_oid=()
: > ${scratchPath}/behind
if [ -s ${scratchPath}/changed-files ]; then
  filters < ${scratchPath}/changed-files > ${scratchPath}/filtered
  if [ -f ${scratchPath}/base-index ]; then
    GIT_INDEX_FILE=${scratchPath}/base-index filters --cached < ${scratchPath}/changed-files >> ${scratchPath}/filtered
  fi
  while IFS= read -r -d '' path && IFS= read -r -d '' _ && IFS= read -r -d '' filter; do
    filter_of["x$path"]=$filter
  done < ${scratchPath}/filtered
  # A filter may have written the base although the project's attributes do not name it.
  while IFS= read -r -d '' head && IFS= read -r -d '' path; do
    set -- \${head#:}
    case $1 in 100*) printf '%s\\n' "$3" ;; esac
  done < ${scratchPath}/changes | sort -u | git cat-file --batch-check='%(objectsize) %(objectname)' |
    sed -n 's/^[0-9]\\{1,6\\} //p' | git cat-file --batch |
    grep -aE -A1 '^[0-9a-f]{40} blob [0-9]+$' |
    grep -aE -B1 '^(version https://(git-lfs|hawser)\\.github\\.com/spec/v1$|.GITCRYPT.)' |
    sed -n 's/^\\([0-9a-f]\\{40\\}\\) blob [0-9]*$/\\1/p' > ${scratchPath}/outputs || :
  declare -A is_output=()
  while read -r oid; do is_output[$oid]=1; done < ${scratchPath}/outputs
  while IFS= read -r -d '' head && IFS= read -r -d '' path; do
    set -- \${head#:}
    case $2 in 100*) ;; *) continue ;; esac
    [ -z "\${is_output[$3]-}" ] || filter_of["x$path"]=\${filter_of["x$path"]-unknown}
    [ -n "\${filter_of["x$path"]-}" ] || continue
    case $1 in 100*) base_oid["x$path"]=$3 ;; esac
    printf '%s\\0' "$path"
  done < ${scratchPath}/changes > ${scratchPath}/behind
fi
if [ -s ${scratchPath}/set-apart ]; then
  git ls-files -z -v -s > ${scratchPath}/flagged
  while IFS= read -r -d '' entry; do
    set -- \${entry%%$'\\t'*}
    path=\${entry#*$'\\t'}
    case $1 in h) ;; *) continue ;; esac
    base_oid["x$path"]=$3
    printf '%s\\0' "$path" >> ${scratchPath}/behind
  done < ${scratchPath}/flagged
fi

if [ -s ${scratchPath}/behind ]; then
  xargs -0 stat --printf '%.6Y %s %a\\t%n\\0' -- < ${scratchPath}/behind > ${scratchPath}/stated || :
  declare -A their_entry=() present=()
  while IFS= read -r -d '' entry; do
    set -- \${entry%%$'\\t'*}
    present["x\${entry#*$'\\t'}"]="\${1/./} $2 $3"
  done < ${scratchPath}/stated
  if [ "$has_index" = yes ]; then
    stated='  ctime: [0-9:]*\\n  mtime: \\([0-9]*\\):\\([0-9]*\\)\\n  dev: [0-9]*\\tino: [0-9]*\\n  uid: [0-9]*\\tgid: [0-9]*\\n  size: \\([0-9]*\\)\\tflags: [0-9a-f]*\\n'
    their_index --debug > ${scratchPath}/debug
    sed -z -n "2,\\$s/^$stated.*/\\1 \\2 \\3/p" ${scratchPath}/debug > ${scratchPath}/stats
    sed -z "s/^$stated//;\\$d" ${scratchPath}/debug > ${scratchPath}/entries
    paste -z -d '\\t' ${scratchPath}/stats ${scratchPath}/entries > ${scratchPath}/stated
    while IFS= read -r -d '' entry; do
      path=\${entry#*$'\\t'}
      path=\${path#*$'\\t'}
      [ -n "\${present["x$path"]-}" ] || continue
      set -- \${entry%$'\\t'"$path"}
      # Seconds, nanoseconds, size, tag, mode, oid, stage.
      [ "$7" = 0 ] && [ $(( $2 < 1000000000 )) = 1 ] || continue
      their_entry["x$path"]="$(( $1 * 1000000 + $2 / 1000 )) $3 $6"
    done < ${scratchPath}/stated
  fi
fi

# Sets lfs_oid and lfs_size if the blob is a pointer of Git LFS.
is_pointer() {
  local text
  text=$(git cat-file blob "$1" 2>/dev/null | head -c 1024 | tr -d '\\0')
  case $text in 'version https://git-lfs.github.com/spec/v1'$'\\n'* | 'version https://hawser.github.com/spec/v1'$'\\n'*) ;; *) return 1 ;; esac
  [[ $text =~ $'\\n''oid sha256:'([0-9a-f]{64})$'\\n''size '([0-9]+) ]] || return 1
  lfs_oid=\${BASH_REMATCH[1]} lfs_size=\${BASH_REMATCH[2]}
}
# Whether the file is the object that a pointer of Git LFS names.
is_object_of() {
  is_pointer "$1" && [ "$lfs_size" = "$size" ] && [ "$(sha256sum < "$path" | head -c 64)" = "$lfs_oid" ]
}
is_encrypted() {
  git cat-file blob "$1" 2>/dev/null | head -c 10 | grep -qaE '^.GITCRYPT'
}
is_at_host() {
  GIT_DIR=${scratchPath}/known git cat-file -e "$1" 2>/dev/null
}
# Whether the project's own configuration has the filter, so that the agent's git has run it.
is_configured() {
  [ -f .git/config ] && [ ! -L .git/config ] || return 1
  git config --no-includes --file .git/config "filter.$1.clean" > /dev/null 2>&1 ||
    git config --no-includes --file .git/config "filter.$1.process" > /dev/null 2>&1
}
# Whether the filter $3 made the blob $1, which the agent's index names, of a file with the content $2.
is_clean() {
  printf '%s\\n' "$1" | obtain
  git cat-file -e "$1" 2>/dev/null || return 1
  case $3 in
    lfs) return 1 ;;
    git-crypt*) is_encrypted "$1" ;;
    unknown) return 1 ;;
    *) ! is_pointer "$1" && { [ "$1" != "$2" ] || is_configured "$3"; } ;;
  esac
}

refused=()
while IFS= read -r -d '' path; do
  state=\${present["x$path"]-}
  [ -n "$state" ] || continue
  base_is=\${base_oid["x$path"]-}
  filter=\${filter_of["x$path"]}
  set -- $state
  time=$1 size=$2 mode=100644
  [ $(( 8#$3 & 8#100 )) = 0 ] || mode=100755
  staged=
  entry=\${their_entry["x$path"]-}
  if [ -n "$entry" ]; then
    set -- $entry
    apart_us=$(( time - $1 ))
    if [ "$2" = "$size" ] && [ "\${apart_us#-}" -le 2 ]; then staged=$3; fi
  fi
  taken=
  if [ -n "$staged" ] && { [ "$staged" = "$base_is" ] || is_at_host "$staged"; }; then
    taken=$staged
    # Git compares content if both are of the same moment; only the filter could do so here.
    if [ "$time" -ge "$index_changed" ] && [ "$(git hash-object --no-filters -- "$path")" != "$staged" ] && ! is_object_of "$staged"; then
      quote "$path"
      note "$quoted is taken as git's index holds it. Both were written in the same moment."
    fi
  elif [ -n "$base_is" ] && is_object_of "$base_is"; then
    taken=$base_is
  else
    raw=$(git hash-object --no-filters -- "$path")
    if is_at_host "$raw"; then
      taken=$raw
    elif head -c 10 < "$path" | grep -qaE '^.GITCRYPT'; then
      taken=$(git hash-object -w --no-filters -- "$path")
    elif [ -n "$staged" ] && is_clean "$staged" "$raw" "$filter"; then
      taken=$staged
    fi
  fi
  if [ -n "$taken" ]; then
    printf '%s %s\\t%s\\0' "$mode" "$taken" "$path"
  else
    refused+=("$path ($filter)")
  fi
done < ${scratchPath}/behind > ${scratchPath}/decided
if [ \${#refused[@]} -gt 0 ]; then
  named=$(printf ', %s' "\${refused[@]:0:${NAMED}}")
  [ \${#refused[@]} -le ${NAMED} ] || named="$named and \${#refused[@]} in all"
  cannot "the content of files behind a filter is not delivered as it is: \${named#, }. Put them back, or add them with git in the sandbox where the filter is set up. Files of Git LFS need their objects at the Git host first."
fi
git update-index -z --index-info < ${scratchPath}/decided
`
