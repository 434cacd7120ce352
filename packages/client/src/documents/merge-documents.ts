import { applyPatch, createTwoFilesPatch } from 'diff'
import type { PlainDocument } from './document.ts'
import { same } from './same.ts'

export interface Merged {
  readonly document: PlainDocument
  /** Members that both sides have changed in ways that do not go together, such as `variables.CI`. */
  readonly conflicts: readonly string[]
}

/**
 * Merges two changes of one document, member by member: variables by their names, the setup script by its lines, and
 * everything else as a whole.
 */
export function mergeDocuments(base: PlainDocument, theirs: PlainDocument, mine: PlainDocument): Merged {
  const conflicts: string[] = []
  const merge = (path: string, [from, left, right]: readonly [unknown, unknown, unknown]): unknown => {
    if (same(left, right) || same(from, right)) return left
    if (same(from, left)) return right
    if (path === 'variables' && [from, left, right].every(isObject)) return members(`${path}.`, from, left, right)
    const lines = path === 'setup' ? mergeLines(from, left, right) : null
    if (lines === null) conflicts.push(path)
    return lines ?? left
  }
  const members = (prefix: string, ...[from, left, right]: readonly unknown[]) => {
    const maps = [from, left, right].map(side => new Map(Object.entries(Object(side))))
    const names = new Set(maps.flatMap(map => [...map.keys()]))
    const entries = [...names].map(name => {
      const [a, b, c] = maps.map(map => map.get(name))
      return [name, merge(`${prefix}${name}`, [a, b, c])] as const
    })
    return Object.fromEntries(entries.filter(([, value]) => value !== undefined))
  }
  return { document: members('', base, theirs, mine) as unknown as PlainDocument, conflicts }
}

function mergeLines(base: unknown, theirs: unknown, mine: unknown): string | null {
  if (typeof base !== 'string' || typeof theirs !== 'string' || typeof mine !== 'string') return null
  const patch = createTwoFilesPatch('', '', base, mine, undefined, undefined, { context: 3 })
  const merged = applyPatch(theirs, patch, { fuzzFactor: 0 })
  return merged === false ? null : merged
}

const isObject = (value: unknown): boolean => typeof value === 'object' && value !== null && !Array.isArray(value)
