/** Limits of what a host is asked for and says of itself. */
export const hostLimits = { labels: 32, capacity: 10_000 } as const

/** Forms of its pool, and of names and values of its labels. */
export const hostPatterns = {
  pool: '[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?',
  label: '[A-Za-z0-9][A-Za-z0-9._/-]{0,62}',
  value: '([A-Za-z0-9][A-Za-z0-9._/-]{0,62})?',
} as const

const pool = new RegExp(`^${hostPatterns.pool}$`)
const label = new RegExp(`^${hostPatterns.label}$`)
const value = new RegExp(`^${hostPatterns.value}$`)

/** Returns true for the name of a pool. */
export const isHostPool = (text: unknown): text is string => typeof text === 'string' && pool.test(text)

/** Returns true for the labels of a host. */
export function isHostLabels(labels: unknown): labels is Readonly<Record<string, string>> {
  if (typeof labels !== 'object' || labels === null || Array.isArray(labels)) return false
  const entries = Object.entries(labels)
  const isRight = ([name, text]: [string, unknown]) => label.test(name) && typeof text === 'string' && value.test(text)
  return entries.length <= hostLimits.labels && entries.every(isRight)
}

/** Returns labels that are written `name=value`; undefined if one is not. */
export function parseHostLabels(texts: readonly string[]): Readonly<Record<string, string>> | undefined {
  const pairs = texts.map(text => {
    const at = text.indexOf('=')
    return [text.slice(0, at).trim(), text.slice(at + 1).trim()] as const
  })
  const labels = Object.fromEntries(pairs)
  return texts.every(text => text.includes('=')) && isHostLabels(labels) ? labels : undefined
}
