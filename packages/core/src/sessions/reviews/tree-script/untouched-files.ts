import { scratchPath } from '@berth/sandboxes/lease-program.ts'

/**
 * Takes files as unchanged that are exactly as a checkout makes them, although `add` would store them in another form:
 * line ends or `$Id$` that the base does not hold in the form its attributes ask for.
 */
export const untouchedFiles = `
while IFS= read -r -d '' head && IFS= read -r -d '' path; do
  set -- \${head#:}
  case $1$2 in 100[67][45][45]100[67][45][45]) ;; *) continue ;; esac
  [ "$3" = "$4" ] || [ -n "\${filter_of["x$path"]-}" ] || printf '%s %s\\t%s\\0' "$2" "$3" "$path"
done < ${scratchPath}/changes > ${scratchPath}/modified
if [ -s ${scratchPath}/modified ]; then
  converted() {
    cut -z -f2- ${scratchPath}/modified | git check-attr -z "$@" --stdin text eol crlf ident working-tree-encoding \\
      2>> ${scratchPath}/warned | sed -z -n 'N;N;/\\x00\\(unspecified\\|unset\\)$/!s/\\x00[-a-z]*\\x00[^\\x00]*$//p'
  }
  converted > ${scratchPath}/converted
  if grep -qz '[[:blank:]/]\\.gitattributes$' ${scratchPath}/before || [ -s ${scratchPath}/converted ]; then
    [ -f ${scratchPath}/base-index ] || GIT_INDEX_FILE=${scratchPath}/base-index git read-tree "$base"
    GIT_INDEX_FILE=${scratchPath}/base-index converted --cached >> ${scratchPath}/converted
    sort -zu -o ${scratchPath}/converted ${scratchPath}/converted
  fi
  if [ -s ${scratchPath}/converted ]; then
    mkdir ${scratchPath}/made
    # The attributes of the base count, as they did in the checkout: no file of the project is seen here.
    ( cd ${scratchPath}/made &&
      GIT_WORK_TREE=${scratchPath}/made GIT_INDEX_FILE=${scratchPath}/base-index git checkout-index -z --quiet --stdin ) \\
      < ${scratchPath}/converted 2>> ${scratchPath}/warned
    contents() {
      xargs -0 git hash-object --no-filters -- < ${scratchPath}/converted 2>/dev/null
    }
    ( cd ${scratchPath}/made && GIT_WORK_TREE=${scratchPath}/made contents ) > ${scratchPath}/made-oids || : > ${scratchPath}/made-oids
    contents > ${scratchPath}/present-oids || : > ${scratchPath}/present-oids
    rm -rf ${scratchPath}/made
    declare -A untouched=()
    while IFS= read -r -d '' path && read -r made <&3 && read -r present <&4; do
      [ "$made" != "$present" ] || untouched["x$path"]=1
    done < ${scratchPath}/converted 3< ${scratchPath}/made-oids 4< ${scratchPath}/present-oids
    while IFS= read -r -d '' entry; do
      [ -z "\${untouched["x\${entry#*$'\\t'}"]-}" ] || printf '%s\\0' "$entry"
    done < ${scratchPath}/modified | git update-index -z --index-info
  fi
fi
`
