import { LinearPattern } from '@berth/platform/kit/linear-pattern.ts'
import { PatternRefused } from '@berth/platform/kit/pattern-syntax.ts'

/** Most steps of one match: some ten milliseconds of processor time at worst. */
const MOST_STEPS = 100_000

/**
 * Returns whether text matches an agent's pattern anywhere, as in JSON Schema; undefined if that cannot be decided, as
 * the pattern is none that takes linear time, or the two together are too long.
 */
export function matches(text: string, pattern: string): boolean | undefined {
  const matcher = linear(pattern)
  return matcher === null || matcher.steps * text.length > MOST_STEPS ? undefined : matcher.test(text)
}

/** Returns whether an agent's pattern can decide on some text. */
export const isMatchable = (pattern: string): boolean => linear(pattern) !== null

function linear(pattern: string): LinearPattern | null {
  try {
    return new LinearPattern(pattern)
  } catch (error) {
    if (error instanceof PatternRefused) return null
    throw error
  }
}

const formats = {
  email: (text: string) => /^[^\s@]+@[^\s@.]+(?:\.[^\s@.]+)+$/.test(text),
  uri: (text: string) => /^[A-Za-z][A-Za-z0-9+.-]*:/.test(text) && URL.canParse(text),
  date: isDate,
  'date-time': (text: string) => {
    const [, date = ''] =
      /^(\d{4}-\d{2}-\d{2})[Tt]\d{2}:\d{2}:\d{2}(?:\.\d+)?(?:[Zz]|[+-]\d{2}:\d{2})$/.exec(text) ?? []
    return isDate(date) && !Number.isNaN(Date.parse(text))
  },
} as const

export const hasFormat = (text: string, format: keyof typeof formats): boolean => formats[format](text)

/** Returns true if the day exists: `Date` turns 30 February into 2 March. */
function isDate(text: string): boolean {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text)) return false
  const at = new Date(`${text}T00:00:00Z`)
  return !Number.isNaN(at.getTime()) && at.toISOString().startsWith(text)
}
