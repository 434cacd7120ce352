/** The part of a tree that is asked for. Paths are bytes, each a character, as everywhere beside a tree. */
export class Scope {
  readonly #only: readonly string[] | undefined

  /** @param only paths as text; the whole tree where there are none */
  constructor(only: readonly string[] | undefined) {
    this.#only = only?.map(path => Buffer.from(path, 'utf8').toString('latin1'))
  }

  /** Whether a path is asked for, by itself or by a directory above it. */
  holds(path: string): boolean {
    return this.#only?.some(root => path === root || path.startsWith(`${root}/`)) ?? true
  }

  /** Whether a directory is asked for or lies on the way to what is. */
  leadsTo(path: string): boolean {
    return this.holds(path) || (this.#only?.some(root => root.startsWith(`${path}/`)) ?? true)
  }
}
