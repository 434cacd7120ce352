import { createContext, runInContext } from 'node:vm'

/** Bound of a match: patterns come from agents, and some never end. Text that is not judged in time is accepted. */
const PATTERN_MS = 25

/** Returns true if text matches an agent's pattern anywhere, as in JSON Schema; an invalid pattern matches all text. */
export function matches(text: string, pattern: string): boolean {
  const context = createContext({ text, pattern })
  try {
    return runInContext('new RegExp(pattern, "u").test(text)', context, { timeout: PATTERN_MS }) === true
  } catch {
    return true
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
