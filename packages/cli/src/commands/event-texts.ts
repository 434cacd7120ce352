const [quote, backslash, opens, closes] = [...'"\\{}'].map(each => each.charCodeAt(0))
const start = '{"events":['

/**
 * Returns the text of each Event of a page, exactly as the page carries it: what parsing leaves out, such as spaces, counts
 * for its digest.
 * @param page the JSON text of a page of Events
 * @throws Error if it does not begin as one
 */
export function eventTexts(page: string): readonly string[] {
  if (!page.startsWith(start)) throw new Error('the answer is no page of events')
  const texts: string[] = []
  let [depth, first] = [0, 0]
  for (let at = start.length; at < page.length; at += 1) {
    const unit = page.charCodeAt(at)
    if (unit === quote) at = endOfString(page, at)
    else if (unit === opens) {
      if (depth === 0) first = at
      depth += 1
    } else if (unit === closes) {
      depth -= 1
      // The page itself ends.
      if (depth < 0) break
      if (depth === 0) texts.push(page.slice(first, at + 1))
    }
  }
  return texts
}

function endOfString(text: string, from: number): number {
  for (let at = from + 1; at < text.length; at += 1) {
    const unit = text.charCodeAt(at)
    if (unit === backslash) at += 1
    else if (unit === quote) return at
  }
  return text.length
}
