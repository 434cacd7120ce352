interface Range {
  readonly type: string
  readonly subtype: string
  readonly quality: number
}

const range = /^\s*([!#$%&'*+.^_`|~\w-]+)\/([!#$%&'*+.^_`|~\w-]+)\s*$/

function parse(element: string): Range | null {
  const [essence = '', ...parameters] = element.split(';')
  const match = range.exec(essence)
  if (match === null) return null
  const weight = parameters.map(parameter => /^\s*q\s*=\s*(\d(?:\.\d*)?)\s*$/i.exec(parameter)?.[1]).find(Boolean)
  const [, type = '', subtype = ''] = match
  return {
    type: type.toLowerCase(),
    subtype: subtype.toLowerCase(),
    quality: weight === undefined ? 1 : Number(weight),
  }
}

const specificity = (item: Range) => (item.type === '*' ? 0 : item.subtype === '*' ? 1 : 2)

/**
 * Returns whether an `Accept` header accepts a media type. The most specific matching range decides, so a wildcard does
 * not override `text/html;q=0`. Parameters other than `q` are ignored. An absent or empty header accepts everything.
 */
export function accepts(header: string | undefined, mediaType: string): boolean {
  if (header === undefined || header.trim() === '') return true
  const [type, subtype] = mediaType.split('/')
  const matching = header
    .split(',')
    .map(parse)
    .filter(item => item !== null)
    .filter(
      item =>
        (item.type === '*' && item.subtype === '*') || (item.type === type && ['*', subtype].includes(item.subtype)),
    )
  const deciding = Math.max(...matching.map(specificity))
  return matching.some(item => specificity(item) === deciding && item.quality > 0)
}
