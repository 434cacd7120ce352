/** Longest title and body of a draft, in characters. */
const TITLE = 256
const BODY = 60_000

/**
 * Returns the title and the text of a pull request that an agent drafts by its last message: the heading that the message
 * begins with, and the rest.
 * @param otherwise the title if the message begins with none
 */
export function pullRequestDraft(
  message: string,
  otherwise: string,
): { readonly title: string; readonly body: string } {
  const [first = '', ...rest] = message.trim().split('\n')
  const heading = /^#\s+(.*?)(?:\s+#+)?\s*$/.exec(first)?.[1] ?? ''
  const body = heading === '' ? message.trim() : rest.join('\n').trim()
  const title = heading === '' ? (otherwise.trim().split('\n', 1)[0] ?? '') : heading
  return { title: [...title].slice(0, TITLE).join('').trim(), body: body.slice(0, BODY).toWellFormed() }
}
