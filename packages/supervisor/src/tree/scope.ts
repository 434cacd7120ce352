/** The requested part of a tree. Paths are bytes, one character each, as everywhere in this program. */
export class Scope {
  readonly #only: readonly string[] | undefined

  /** @param only paths as text; undefined for the whole tree */
  constructor(only: readonly string[] | undefined) {
    this.#only = only?.map(path => Buffer.from(path, 'utf8').toString('latin1'))
  }

  /** Returns true if the path, or a directory above it, is requested. */
  holds(path: string): boolean {
    return this.#only?.some(root => path === root || path.startsWith(`${root}/`)) ?? true
  }

  /** Returns true if the directory is requested, or contains a requested path. */
  leadsTo(path: string): boolean {
    return this.holds(path) || (this.#only?.some(root => root.startsWith(`${path}/`)) ?? true)
  }
}
