const placeholder = /\{\{\s*([\w-]+(?:\.[\w-]+)*)\s*\}\}/g

/**
 * Returns a message with the fields of a payload in the place of `{{path.to.field}}`: text as it is, anything else as
 * JSON, and nothing for a field that is not there. Placeholders in a payload stay as they are. A short template can name
 * one long field thousands of times, so building stops once the message is too long.
 * @param most code points
 * @returns null for a message that is longer
 */
export function fillTemplate(template: string, payload: unknown, most: number): string | null {
  const parts: string[] = []
  let units = 0
  const add = (text: string) => {
    parts.push(text)
    units += text.length
  }
  let end = 0
  for (const found of template.matchAll(placeholder)) {
    const [whole, path = ''] = found
    add(template.slice(end, found.index))
    add(textOf(fieldAt(payload, path.split('.'))))
    end = found.index + whole.length
    // A code point is two units at most.
    if (units > 2 * most) return null
  }
  add(template.slice(end))
  const message = parts.join('')
  return message.length > most && [...message].length > most ? null : message
}

function fieldAt(payload: unknown, path: readonly string[]): unknown {
  let value = payload
  for (const name of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined
    value = (value as Record<string, unknown>)[name]
  }
  return value
}

function textOf(value: unknown): string {
  if (value === undefined || value === null) return ''
  return typeof value === 'string' ? value : JSON.stringify(value)
}
