import { lstatSync } from 'node:fs'
import { TrackedDirectories } from './git-index.ts'
import { nativePath } from './native-path.ts'
import type { ExcludeRule } from './protocol.ts'

/** Decides which directories of a tree stay out of its checkpoint. */
export class Excluder {
  readonly #rules: ReadonlyMap<string, readonly ExcludeRule[]>
  readonly #tracked = new TrackedDirectories()

  constructor(rules: readonly ExcludeRule[]) {
    this.#rules = Map.groupBy(rules, rule => rule.names.at(-1) ?? '')
  }

  excludes(path: string): boolean {
    const parent = path.slice(0, path.lastIndexOf('/') + 1)
    const rules = this.#rules.get(path.slice(parent.length)) ?? []
    return rules.some(rule => {
      const suffix = rule.names.join('/')
      if (rule.rooted === true) return path === suffix
      if (path !== suffix && !path.endsWith(`/${suffix}`)) return false
      if (rule.holding !== undefined && !exists(`${path}/${rule.holding}`)) return false
      if (rule.beside !== undefined && !exists(parent + rule.beside)) return false
      return !this.#tracked.tracks(path)
    })
  }
}

function exists(path: string): boolean {
  try {
    return lstatSync(nativePath(path), { throwIfNoEntry: false }) !== undefined
  } catch {
    return false
  }
}
