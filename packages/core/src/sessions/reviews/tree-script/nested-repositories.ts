import { insidePaths } from '@berth/sandboxes/inside-paths.ts'
import { scratchPath } from '@berth/sandboxes/lease-program.ts'

/** The first line of the `.git` of a linked worktree. */
const WORKTREE = '^gitdir: .*/worktrees/[^/]+$'

/**
 * Sets `apart` to the pathspecs that keep linked worktrees of the project's own repository out: they hold other
 * branches of the same work. The repository names them in its own directory, whatever their `.git` leads to.
 */
export const ownWorktrees = `
is_worktree() {
  [ -f "$1/.git" ] && [ ! -L "$1/.git" ] && head -c 8192 "$1/.git" | head -n 1 | grep -qE '${WORKTREE}'
}
apart=()
for named in .git/worktrees/*/gitdir; do
  [ -d .git ] && [ ! -L .git ] && [ -f "$named" ] && [ ! -L "$named" ] || continue
  at=$(head -c 8192 "$named" | tr -d '\\0' | head -n 1)
  at=\${at#${insidePaths.project}/}
  at=\${at#../../../}
  at=\${at%/.git}
  case /$at/ in *//* | */../*) continue ;; esac
  is_worktree "$at" || continue
  apart+=(":(top,literal,exclude)$at")
  quote "$at"
  git check-ignore -q -- "$at" 2>/dev/null || note "$quoted is a linked worktree of the project's repository, and is left out."
done
`

/**
 * Takes the files of repositories inside the project as its own, unless they are submodules. A link to a commit of such
 * a repository would lead nowhere: nobody else has the commit. For the same reason a submodule may only name a commit
 * that a remote branch of its repository holds.
 */
export const nestedRepositories = `
adopt() {
  local at=$1 path worktree
  if is_worktree "$at"; then
    quote "$at"
    note "$quoted is a linked worktree of another repository, and is left out."
    return 0
  fi
  local worktrees=()
  find "./$at" -mindepth 2 -name .git -type f -print0 > ${scratchPath}/inner-links
  while IFS= read -r -d '' path; do
    path=\${path#./}
    if is_worktree "\${path%/.git}"; then worktrees+=("\${path%/.git}"); fi
  done < ${scratchPath}/inner-links
  find "./$at" -name .git -prune -o '(' -type f -o -type l ')' -print0 > ${scratchPath}/inner-files
  while IFS= read -r -d '' path; do
    path=\${path#./}
    for worktree in "\${worktrees[@]}"; do
      case $path in "$worktree"/*) continue 2 ;; esac
    done
    printf '%s\\0' "$path"
  done < ${scratchPath}/inner-files | sort -z > ${scratchPath}/inner
  git check-ignore -z --stdin < ${scratchPath}/inner 2>/dev/null | sort -z > ${scratchPath}/ignored || :
  comm -z -23 ${scratchPath}/inner ${scratchPath}/ignored > ${scratchPath}/adopted
  for worktree in "\${worktrees[@]}"; do
    quote "$worktree"
    note "$quoted is a linked worktree, and is left out."
  done
  [ -s ${scratchPath}/adopted ] || return 0
  added=0
  git update-index -z --add --stdin < ${scratchPath}/adopted 2> ${scratchPath}/complaints || added=$?
  [ "$added" -eq 0 ] || refuse "$added" ${scratchPath}/complaints
  sed -n 's/^Ignoring path /git: left out: /p' ${scratchPath}/complaints >> ${scratchPath}/notes
  quote "$at"
  note "$quoted holds a repository of its own. Its files are taken as files of the project."
}

# Whether a remote branch of the repository at $1 holds the commit $2.
is_fetchable() {
  local dir="${insidePaths.project}/$1/.git" to
  if [ -f "$dir" ] && [ ! -L "$dir" ]; then
    to=$(head -c 8192 "$dir" | tr -d '\\0' | sed -n '1s/^gitdir: //p')
    case $to in '') return 1 ;; /*) dir=$to ;; *) dir="${insidePaths.project}/$1/$to" ;; esac
  fi
  [ -d "$dir/refs" ] || return 1
  {
    if [ -f "$dir/packed-refs" ]; then sed -n 's,^\\([0-9a-f]\\{40\\}\\) refs/remotes/.*,\\1,p' "$dir/packed-refs"; fi
    find "$dir/refs/remotes" -type f -size -2 -exec grep -hE '^[0-9a-f]{40}$' '{}' + 2>/dev/null || :
  } | sort -u > ${scratchPath}/remote-tips
  if grep -qx "$2" ${scratchPath}/remote-tips; then return 0; fi
  [ -s ${scratchPath}/remote-tips ] || return 1
  printf '%s\\n' "$dir/objects" > ${scratchPath}/lender/objects/info/alternates
  to=$(sed 's/^/^/' ${scratchPath}/remote-tips | { printf '%s\\n' "$2" && cat; } |
    GIT_DIR=${scratchPath}/lender git rev-list --ignore-missing --max-count=1 --stdin 2>/dev/null) || return 1
  [ -z "$to" ] && GIT_DIR=${scratchPath}/lender git cat-file -e "$2" 2>/dev/null
}

if [ "$added" -eq 1 ] && grep -qE "^error: '.*' does not have a commit checked out" ${scratchPath}/complaints; then
  git ls-files -z --others --exclude-standard -- . "\${apart[@]}" 2>/dev/null > ${scratchPath}/others
  grep -z '/$' ${scratchPath}/others > ${scratchPath}/empty || :
  while IFS= read -r -d '' path; do adopt "\${path%/}"; done < ${scratchPath}/empty
fi
git ls-files -z -s | grep -z '^160000 ' > ${scratchPath}/gitlinks || :
if [ -s ${scratchPath}/gitlinks ]; then
  declare -A submodule=()
  while IFS= read -r -d '' entry; do
    set -- \${entry%%$'\\t'*}
    submodule["x\${entry#*$'\\t'}"]=$3
  done < ${scratchPath}/links
  if [ -f .gitmodules ] && [ ! -L .gitmodules ]; then
    git config -z --no-includes --file .gitmodules --get-regexp '^submodule\\..*\\.path$' > ${scratchPath}/registered 2>/dev/null || :
    while IFS= read -r -d '' entry; do
      path=\${entry#*$'\\n'}
      submodule["x$path"]=\${submodule["x$path"]-new}
    done < ${scratchPath}/registered
  fi
  while IFS= read -r -d '' entry; do
    path=\${entry#*$'\\t'}
    set -- \${entry%%$'\\t'*}
    known=\${submodule["x$path"]-}
    if [ -z "$known" ]; then
      git update-index --force-remove -- "$path"
      adopt "$path"
    elif [ "$known" != "$2" ] && ! is_fetchable "$path" "$2"; then
      quote "$path"
      cannot "no remote branch of the submodule $quoted holds its commit $2, so nobody could fetch it: push the commit there, or check out another"
    fi
  done < ${scratchPath}/gitlinks
fi
`
