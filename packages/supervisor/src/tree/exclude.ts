import { TrackedDirectories } from './git-index.ts'
import type { ExcludeRule } from './protocol.ts'

/** Which directories of a tree stay out. */
export class Excluder {
  readonly #rules: ReadonlyMap<string, readonly ExcludeRule[]>
  readonly #tracked = new TrackedDirectories()

  constructor(rules: readonly ExcludeRule[]) {
    this.#rules = Map.groupBy(rules, rule => rule.names.at(-1) ?? '')
  }

  /** @param beside names in the directory's own parent */
  excludes(path: string, names: () => readonly string[], beside: (name: string) => boolean): boolean {
    const last = path.slice(path.lastIndexOf('/') + 1)
    for (const rule of this.#rules.get(last) ?? []) {
      const suffix = rule.names.join('/')
      if (rule.rooted === true) {
        if (path === suffix) return true
        continue
      }
      if (path !== suffix && !path.endsWith(`/${suffix}`)) continue
      if (rule.holding !== undefined && !names().includes(rule.holding)) continue
      if (rule.beside !== undefined && !beside(rule.beside)) continue
      if (!this.#tracked.tracks(path)) return true
    }
    return false
  }
}
