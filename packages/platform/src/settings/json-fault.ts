/**
 * Finds where a text is not JSON, as a line and a column. The words of V8 themselves may quote a secret: before a token that it
 * does not expect they quote the text in place of a position. That token ends the shortest beginning that V8 refuses so.
 */
export function placeOfFault(json: string): string {
  const [place] = /line \d+ column \d+(?=\)$)/.exec(refusalOf(json)) ?? []
  if (place !== undefined) return place
  let [length, most] = [1, json.length]
  while (length < most) {
    const middle = Math.floor((length + most) / 2)
    if (refusalOf(json.slice(0, middle)).startsWith('Unexpected token')) most = middle
    else length = middle + 1
  }
  const lines = json.slice(0, length - 1).split('\n')
  return `line ${lines.length} column ${(lines.at(-1) ?? '').length + 1}`
}

function refusalOf(json: string): string {
  try {
    JSON.parse(json)
    return ''
  } catch (error) {
    return String((error as Error).message)
  }
}
