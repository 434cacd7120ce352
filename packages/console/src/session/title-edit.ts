/**
 * Returns what to call with the text as the field of a title is left. It hands on the title to send, or null if there is none.
 * The field is left once more as it disappears, so only the first time counts.
 * @param began the title with which editing began; a newer one gives way only to a text that somebody wrote
 */
export function titleEdit(began: string, onLeave: (title: string | null) => void): (written: string) => void {
  let left = false
  return written => {
    if (left) return
    left = true
    const title = written.trim()
    onLeave(title === '' || title === began.trim() ? null : title)
  }
}
