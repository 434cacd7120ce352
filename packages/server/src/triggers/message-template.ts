const placeholder = /\{\{\s*([\w-]+(?:\.[\w-]+)*)\s*\}\}/g

/**
 * Returns a message with the fields of a payload in the place of `{{path.to.field}}`: text as it is, anything else as
 * JSON, and nothing for a field that is not there. Placeholders in a payload stay as they are.
 */
export function fillTemplate(template: string, payload: unknown): string {
  return template.replaceAll(placeholder, (_, path: string) => textOf(fieldAt(payload, path.split('.'))))
}

function fieldAt(value: unknown, [name, ...rest]: readonly string[]): unknown {
  if (name === undefined) return value
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined
  return fieldAt((value as Record<string, unknown>)[name], rest)
}

function textOf(value: unknown): string {
  if (value === undefined || value === null) return ''
  return typeof value === 'string' ? value : JSON.stringify(value)
}
