import { createContext, runInContext } from 'node:vm'

/** A pattern comes from an agent, and some take for ever: a text that is not judged by then is not refused. */
const PATTERN_MS = 25

/** Whether text matches an agent's pattern, anywhere in it, as JSON Schema has it; one that is no pattern matches all. */
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

/** A day that there is: `Date` makes 2 March of 30 February. */
function isDate(text: string): boolean {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text)) return false
  const at = new Date(`${text}T00:00:00Z`)
  return !Number.isNaN(at.getTime()) && at.toISOString().startsWith(text)
}
