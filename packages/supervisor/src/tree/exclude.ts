import { lstatSync } from 'node:fs'
import { TrackedDirectories } from './git-index.ts'
import { nativePath } from './native-path.ts'
import type { ExcludeRule } from './protocol.ts'

/** Decides what of a tree stays out of its checkpoint. Paths are bytes, one character each, as everywhere in this program. */
export class Excluder {
  readonly #rules: ReadonlyMap<string, readonly ExcludeRule[]>
  readonly #tracked = new TrackedDirectories()
  /** The last two bytes of the names in rules. */
  readonly #ends = new Set<number>()

  constructor(rules: readonly ExcludeRule[]) {
    const named = rules.map(rule => ({ ...rule, names: rule.names.map(inBytes) }))
    this.#rules = Map.groupBy(named, rule => rule.names.at(-1) ?? '')
    for (const name of this.#rules.keys()) this.#ends.add(endingOf(Buffer.from(name, 'latin1'), name.length))
  }

  /** Whether a rule may name the path that ends at a position. Of most paths it can be told without a string. */
  mayName(bytes: Buffer, end: number): boolean {
    return this.#ends.has(endingOf(bytes, end))
  }

  excludes(path: string, isDirectory: boolean): boolean {
    const parent = path.slice(0, path.lastIndexOf('/') + 1)
    const rules = this.#rules.get(path.slice(parent.length)) ?? []
    return rules.some(rule => {
      if (!isDirectory && rule.anything !== true) return false
      const suffix = rule.names.join('/')
      if (rule.rooted === true) return path === suffix
      if (path !== suffix && !path.endsWith(`/${suffix}`)) return false
      if (rule.holding !== undefined && !exists(`${path}/${rule.holding}`)) return false
      if (rule.sibling !== undefined && !exists(parent + rule.sibling)) return false
      return !this.#tracked.tracks(path)
    })
  }
}

const endingOf = (bytes: Buffer, end: number): number => ((bytes[end - 2] ?? SLASH) << 8) | (bytes[end - 1] ?? 0)

const SLASH = 0x2f

const inBytes = (name: string): string => Buffer.from(name, 'utf8').toString('latin1')

function exists(path: string): boolean {
  try {
    return lstatSync(nativePath(path), { throwIfNoEntry: false }) !== undefined
  } catch {
    return false
  }
}
