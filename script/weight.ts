/**
 * Prints the weight of the repository, and fails if a figure is above its bound in weight.json.
 * Whoever raises a bound says why in a decision record.
 */
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Node, parseSync, Visitor } from 'oxc-parser'
import { operationIds } from '../packages/contract/src/routes.ts'
import { describeSettings } from '../packages/platform/src/settings/settings.ts'

const root = join(import.meta.dirname, '..')

interface SourceFile {
  readonly path: string
  readonly text: string
  readonly lines: number
}

type Named = Readonly<Record<'name', string>> & Pick<SourceFile, 'lines'>

const listed = execFileSync('git', ['ls-files', '-z'], { cwd: root, encoding: 'utf8', maxBuffer: 64 * 1024 ** 2 })
const isTask = (path: string) => path.startsWith('bench/tasks/')
const linesIn = (path: string) => readFileSync(join(root, path), 'utf8').split('\n').length - 1
const files = listed
  .split('\0')
  .filter(path => (!isTask(path) && /\.(?:ts|tsx|js|css|sql|sh|njk)$/.test(path)) || /^script\/[\w-]+$/.test(path))
  // Deleted, but not yet in git.
  .filter(path => existsSync(join(root, path)))
  .map((path): SourceFile => {
    const text = readFileSync(join(root, path), 'utf8')
    return { path, text, lines: text.split('\n').length - 1 }
  })

const isTest = ({ path }: SourceFile) =>
  /\.test\.tsx?$/.test(path) || /^packages\/(?:\w+\/test|testing)\//.test(path) || /\/testing\//.test(path)
const isTool = ({ path }: SourceFile) => /^(?:bench|script|tools)\//.test(path)
const isGenerated = ({ path }: SourceFile) => /\/generated\//.test(path)
const sum = (of: readonly SourceFile[]) => of.reduce((total, { lines }) => total + lines, 0)

const tests = files.filter(isTest)
const tools = files.filter(file => isTool(file) && !isTest(file))
const sources = files.filter(file => file.path.startsWith('packages/') && !isTest(file) && !isGenerated(file))
const packages = Map.groupBy(sources, ({ path }) => path.split('/')[1] ?? '')

const migrations = sources.filter(({ path }) => /\/migrations\/.*\.sql$/.test(path))
const tables = new Set<string>()
for (const { text } of migrations.sort((a, b) => a.path.localeCompare(b.path)))
  for (const [, verb, name = '', renamed] of text.matchAll(
    /^\s*(create (?:unlogged )?table|drop table(?: if exists)?|alter table) (\w+)(?: rename to (\w+))?/gim,
  )) {
    if (verb?.toLowerCase().startsWith('create')) tables.add(name)
    else if (verb?.toLowerCase().startsWith('drop')) tables.delete(name)
    else if (renamed !== undefined && tables.delete(name)) tables.add(renamed)
  }

const services = sources.flatMap(({ text }) =>
  [...text.matchAll(/^export class (\w+) (?:extends \w*Service\b|.*implements .*\bService\b)/gm)].map(
    ([, name]) => name,
  ),
)

/** Functions of at least 40 lines, by their beginnings. */
function functionsOf({ path, text }: SourceFile): readonly Named[] {
  const found: Named[] = []
  const lineOf = (offset: number) => text.slice(0, offset).split('\n').length
  const add = (node: Node) => {
    const lines = text.slice(node.start, node.end).split('\n').length
    if (lines >= 40) found.push({ name: `${path}:${lineOf(node.start)}`, lines })
  }
  new Visitor({ FunctionDeclaration: add, FunctionExpression: add, ArrowFunctionExpression: add }).visit(
    parseSync(path, text).program,
  )
  return found
}

const longest = (of: readonly Named[], count = 5) =>
  [...of]
    .sort((a, b) => b.lines - a.lines)
    .slice(0, count)
    .map(({ name, lines }) => `  ${lines}  ${name}`)

const wordsIn = (path: string) => readFileSync(join(root, path), 'utf8').split(/\s+/).filter(Boolean).length
const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as {
  packages: Record<string, { dev?: boolean; link?: boolean }>
}
const production = Object.entries(lock.packages).filter(
  ([path, { dev, link }]) => path.includes('node_modules/') && dev !== true && link !== true,
)

const figures: Readonly<Record<string, number>> = {
  'lines of source': sum(sources),
  'lines of tests': sum(tests),
  'lines of tools': sum(tools),
  'lines of tasks': listed
    .split('\0')
    .filter(isTask)
    .reduce((total, path) => total + linesIn(path), 0),
  operations: operationIds.length,
  tables: tables.size,
  'lines of SQL': sum(migrations),
  settings: describeSettings().length,
  'background services': services.length,
  'production packages': production.length,
  'words of ARCHITECTURE.md': wordsIn('ARCHITECTURE.md'),
  'lines of README.md': readFileSync(join(root, 'README.md'), 'utf8').split('\n').length - 1,
}
const bounds = JSON.parse(readFileSync(join(root, 'weight.json'), 'utf8')) as Readonly<Record<string, number>>
const isScript = ({ path }: SourceFile) => /\.tsx?$/.test(path)

console.info('Lines by package:')
for (const [name, of] of [...packages].sort((a, b) => sum(b[1]) - sum(a[1]))) console.info(`  ${sum(of)}  ${name}`)
console.info('\nLongest files:')
for (const line of longest(sources.map(({ path, lines }) => ({ name: path, lines })))) console.info(line)
console.info('\nLongest functions:')
for (const line of longest(sources.filter(isScript).flatMap(functionsOf))) console.info(line)
console.info('\nFigures, with their bounds:')
for (const [name, figure] of Object.entries(figures)) console.info(`  ${figure}  of ${bounds[name] ?? 0}  ${name}`)
const above = Object.entries(figures).filter(([name, figure]) => figure > (bounds[name] ?? 0))
for (const [name, figure] of above)
  console.error(
    `weight: ${figure} ${name}, of at most ${bounds[name] ?? 0}; take something away, or raise the bound in weight.json with a decision record`,
  )
process.exitCode = above.length === 0 ? 0 : 1
