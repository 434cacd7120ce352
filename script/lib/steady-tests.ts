import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseSync } from 'oxc-parser'
import { testPatterns } from '../gate/test-files.ts'

/** Bounds in milliseconds from here on outlast a pause of a busy machine. */
const LEAST_MS = 2000
const LEAST_SECONDS = 6
/** Names of times that nothing waits for. */
const facts = /^(?:duration|began|mtime|ctime)Ms$/

interface Node {
  readonly type: string
  readonly start: number
  readonly [member: string]: unknown
}

/**
 * Returns every place of a test that gives a bound which a busy machine does not keep, waits for a time instead of a thing, or
 * starts processes that may outlive it, one line each. A line that says `// bound:` and why is left out, and so is the one after it.
 */
export function checkTests(root: string): string[] {
  const files = globSync([...testPatterns, 'packages/*/test/**/*.ts', 'packages/*/src/**/testing/**/*.ts'], {
    cwd: root,
    exclude: path => path.includes('node_modules'),
  })
  return [...new Set(files)].sort().flatMap(file => {
    const source = readFileSync(join(root, file), 'utf8')
    const lines = source.split('\n')
    return [...nodesOf(parseSync(file, source).program)].flatMap(node => {
      const fault = faultOf(node)
      if (fault === undefined) return []
      const at = source.slice(0, node.start).split('\n').length
      const isExplained = [at - 1, at - 2].some(line => lines[line]?.includes('// bound:'))
      return isExplained ? [] : [`${file}:${at}: ${fault}`]
    })
  })
}

function* nodesOf(value: unknown): Generator<Node> {
  if (typeof value !== 'object' || value === null) return
  if ('type' in value && typeof value.type === 'string' && 'start' in value) yield value as Node
  for (const member of Object.values(value)) yield* nodesOf(member)
}

function faultOf({ type, ...node }: Node): string | undefined {
  const literal = (of: unknown) => (of as Node | undefined)?.['value']
  if (type === 'Property') {
    const name = String((node['key'] as Node)['name'] ?? literal(node['key']))
    const value = literal(node['value'])
    if (/Ms$/.test(name) && !facts.test(name) && typeof value === 'number' && value > 0 && value < LEAST_MS)
      return `${name} is too short for a busy machine`
    if (/_SECONDS$/.test(name) && typeof value === 'string' && Number(value) > 0 && Number(value) < LEAST_SECONDS)
      return `${name} is too short for a busy machine`
  }
  if (type === 'CallExpression' && /^(?:sleep|setTimeout)$/.test(String((node['callee'] as Node)['name']))) {
    if ((node['arguments'] as readonly Node[]).some(each => typeof literal(each) === 'number'))
      return 'waits for a time; wait for the thing'
  }
  if (type === 'ImportDeclaration' && literal(node['source']) === 'node:child_process') {
    const names = (node['specifiers'] as readonly Node[]).map(
      ({ imported }) => (imported as Node | undefined)?.['name'],
    )
    if (names.some(name => name === 'spawn' || name === 'fork'))
      return 'its processes may outlive it; script/testing/spawn.ts starts others'
  }
  return undefined
}
