import { lstatSync } from 'node:fs'
import { TrackedDirectories } from './git-index.ts'
import { nativePath } from './native-path.ts'
import type { ExcludeRule } from './protocol.ts'

/** Decides what of a tree stays out of its checkpoint. Paths are bytes, one character each, as everywhere in this program. */
export class Excluder {
  readonly #rules: ReadonlyMap<string, readonly ExcludeRule[]>
  readonly #tracked = new TrackedDirectories()

  constructor(rules: readonly ExcludeRule[]) {
    const named = rules.map(rule => ({ ...rule, names: rule.names.map(inBytes) }))
    this.#rules = Map.groupBy(named, rule => rule.names.at(-1) ?? '')
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

const inBytes = (name: string): string => Buffer.from(name, 'utf8').toString('latin1')

function exists(path: string): boolean {
  try {
    return lstatSync(nativePath(path), { throwIfNoEntry: false }) !== undefined
  } catch {
    return false
  }
}
