import { scratchPath } from '@berth/sandboxes/lease-program.ts'

/** Bytes of all notes of one review, and of one note. */
const NOTES_BYTES = 3_900
const NOTE_BYTES = 600

/**
 * Functions that collect notes for people, one a line. A path that could be read as more than a path, with a line break
 * for example, stands in them as git quotes it; and the words of git, which names paths as they are, begin with `git: `.
 */
export const noteFunctions = `
printable() {
  tr -d '\\000-\\011\\013-\\037\\177'
}
note() {
  printf '%s\\n' "$1" | printable >> ${scratchPath}/notes
}
# Sets quoted to the path $1.
quote() {
  quoted=$1
  case $1 in *[[:cntrl:]\\"\\\\]*) ;; *) return 0 ;; esac
  local at char
  quoted='"'
  for ((at = 0; at < \${#1}; at++)); do
    char=\${1:at:1}
    case $char in
      \\" | \\\\) char="\\\\$char" ;;
      $'\\n') char='\\n' ;;
      $'\\t') char='\\t' ;;
      [[:cntrl:]]) printf -v char '\\\\%03o' "'$char" ;;
    esac
    quoted+=$char
  done
  quoted+='"'
}
# Prints the notes as far as there is room, and how many are left out.
report_notes() {
  sort -u ${scratchPath}/warned ${scratchPath}/errors | sed 's/^/git: /' | printable | cat ${scratchPath}/notes - > ${scratchPath}/all-notes
  local shown=0 room=${NOTES_BYTES} note left
  while IFS= read -r note; do
    [ \${#note} -le ${NOTE_BYTES} ] || note="\${note:0:${NOTE_BYTES}}…"
    room=$((room - \${#note} - 1))
    [ "$room" -ge 0 ] || break
    shown=$((shown + 1))
    printf '%s\\n' "$note"
  done < ${scratchPath}/all-notes
  left=$(($(wc -l < ${scratchPath}/all-notes) - shown))
  [ "$left" -eq 0 ] || echo "Further notes are left out: $left."
}
`
