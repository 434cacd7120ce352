import { fieldAt } from './payload-field.ts'

const placeholder = /\{\{\s*([\w-]+(?:\.[\w-]+)*)(\??)\s*\}\}/g

/** A message that was made of a template, or why there is none. */
export type Filled =
  | { readonly kind: 'message'; readonly message: string; readonly missing: readonly string[] }
  | { readonly kind: 'too_long' }

/**
 * Returns a message with the fields of a payload in the place of `{{path.to.field}}`: text as it is, anything else as
 * JSON, nothing for null. A field that is not there leaves nothing either, and is named among the missing ones unless it is
 * written `{{path.to.field?}}`. Placeholders in a payload stay as they are. A short template can name one long field
 * thousands of times, so building stops once the message is too long.
 * @param most code points
 */
export function fillTemplate(template: string, payload: unknown, most: number): Filled {
  return fill(template, payload, most, text => text)
}

/**
 * Returns a shell script with the fields of a payload as variables, which it assigns in its first lines: a placeholder
 * becomes the name of one. No quotes around a name let its value out as code. A script that evaluates text by itself, as
 * `eval` and the arithmetic of bash do, evaluates the value of a variable as well; the documentation says so.
 * @param most code points
 */
export function fillScript(template: string, payload: unknown, most: number): Filled {
  const names = new Map<string, string>()
  const assignments: string[] = []
  const filled = fill(template, payload, most, (text, path) => {
    const name = names.get(path) ?? `field_${names.size + 1}`
    if (!names.has(path)) assignments.push(`${name}='${text.replaceAll("'", "'\\''")}'\n`)
    names.set(path, name)
    return `\${${name}}`
  })
  if (filled.kind === 'too_long') return filled
  const message = assignments.join('') + filled.message
  return isTooLong(message, most) ? { kind: 'too_long' } : { ...filled, message }
}

function fill(template: string, payload: unknown, most: number, place: (text: string, path: string) => string): Filled {
  const parts: string[] = []
  const missing = new Set<string>()
  let units = 0
  const add = (text: string) => {
    parts.push(text)
    units += text.length
  }
  let end = 0
  for (const found of template.matchAll(placeholder)) {
    const [whole, path = '', optional] = found
    add(template.slice(end, found.index))
    const value = fieldAt(payload, path)
    if (value === undefined && optional === '') missing.add(path)
    add(place(textOf(value), path))
    end = found.index + whole.length
    // A code point is two units at most.
    if (units > 2 * most) return { kind: 'too_long' }
  }
  add(template.slice(end))
  const message = parts.join('')
  if (isTooLong(message, most)) return { kind: 'too_long' }
  return { kind: 'message', message, missing: [...missing] }
}

const isTooLong = (message: string, most: number): boolean => message.length > most && [...message].length > most

function textOf(value: unknown): string {
  if (value === undefined || value === null) return ''
  return typeof value === 'string' ? value : JSON.stringify(value)
}
