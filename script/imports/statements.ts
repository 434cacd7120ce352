import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseSync } from 'oxc-parser'
import { type TableAccess, tables } from './tables.ts'

const sources = 'packages/*/src/'

/** A table's name after a keyword of SQL. */
const mention = /\b(from|join|into|update|truncate)\s+(?:only\s+)?"?([a-z_]+)\b/gi
const creation = /\bcreate\s+(?:unlogged\s+)?table\s+(?:if\s+not\s+exists\s+)?([a-z_]+)/gi
const writing = new Set(['into', 'update', 'truncate'])

/**
 * Returns every statement that names a table of another folder, and every table of the migrations that
 * `tables` does not name, one line each.
 * @param access by table; tests pass their own
 */
export function checkStatements(root: string, access: Readonly<Record<string, TableAccess>> = tables): string[] {
  const created = new Set(
    globSync('packages/platform/src/storage/migrations/*.sql', { cwd: root }).flatMap(file =>
      [...readFileSync(join(root, file), 'utf8').matchAll(creation)].flatMap(([, table = '']) => table),
    ),
  )
  const unnamed = [...created]
    .filter(table => !Object.hasOwn(access, table))
    .map(table => `script/imports/tables.ts does not name the table ${table}`)
  const files = globSync(`${sources}**/*.ts`, { cwd: root }).filter(file => !/\.test\.ts$|\/testing\//.test(file))
  return [...unnamed, ...files.sort().flatMap(file => trespasses(root, file, access))]
}

function trespasses(root: string, file: string, access: Readonly<Record<string, TableAccess>>): string[] {
  const folder = file.slice('packages/'.length, file.lastIndexOf('/')).replace(/\/src(?=\/|$)/, '')
  const found = new Set<string>()
  for (const text of stringsOf(parseSync(file, readFileSync(join(root, file), 'utf8')).program)) {
    for (const match of text.matchAll(mention)) {
      const [, word = '', table = ''] = match
      const rule = Object.hasOwn(access, table) ? access[table] : undefined
      if (rule === undefined || isProse(text)) continue
      const writes =
        writing.has(word.toLowerCase()) || /\bdelete\s+$/i.test(text.slice(Math.max(0, match.index - 16), match.index))
      const allowed = writes ? rule.writes : [...rule.writes, ...(rule.reads ?? [])]
      if (allowed.some(owner => `${folder}/`.startsWith(`${owner}/`))) continue
      found.add(`${file}: ${writes ? 'writes' : 'reads'} ${table}, which belongs to ${rule.writes.join(', ')}`)
    }
  }
  return [...found]
}

/** Returns true for messages: they name tables too, but only statements have their keywords in lower case. */
const isProse = (text: string): boolean => !/\b(?:select|insert|update|delete|with|from|join)\b/.test(text)

/** Yields the text of every string and template below a node of the syntax tree. */
function* stringsOf(node: unknown): Generator<string> {
  if (Array.isArray(node)) {
    for (const child of node) yield* stringsOf(child)
  } else if (typeof node === 'object' && node !== null) {
    if ('type' in node && node.type === 'TemplateLiteral' && 'quasis' in node && Array.isArray(node.quasis)) {
      // Join the pieces of a template, so that a name after an interpolation keeps its verb.
      yield node.quasis.map((quasi: { value: { raw: string } }) => quasi.value.raw).join(' ')
    }
    if ('type' in node && node.type === 'Literal' && 'value' in node && typeof node.value === 'string') yield node.value
    for (const child of Object.values(node)) yield* stringsOf(child)
  }
}
