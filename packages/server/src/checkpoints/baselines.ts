import { randomUUID } from 'node:crypto'
import { access, type FileHandle, mkdir, open, readdir, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

/** Marks an unfinished restore; a file beside the baselines, where no sandbox sees it. */
const UNFINISHED = 'unfinished-restore'

/** A baseline being written; disposing closes it. */
export interface NewBaseline extends AsyncDisposable {
  readonly path: string
  readonly handle: FileHandle
}

/**
 * Baselines of one tree, in a directory that no sandbox sees and that is removed with the tree. Each checkpoint has one
 * file, named by its manifest's digest. The newest two stay, because only the caller knows which of them it has
 * recorded. Losing all of them at any time only costs reading the whole tree once.
 */
export class Baselines {
  readonly #directory: string

  private constructor(directory: string) {
    this.#directory = directory
  }

  static async open(directory: string): Promise<Baselines> {
    await mkdir(directory, { recursive: true, mode: 0o700 })
    return new Baselines(directory)
  }

  /** Returns the baseline of a checkpoint of this tree, if it still exists. */
  async read(manifestSha256: string): Promise<FileHandle | undefined> {
    try {
      return await open(join(this.#directory, manifestSha256))
    } catch (error) {
      if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
      throw error
    }
  }

  /** Opens a file for the next baseline. */
  async begin(): Promise<NewBaseline> {
    const path = join(this.#directory, `new-${randomUUID()}`)
    const handle = await open(path, 'wx', 0o600)
    return { path, handle, [Symbol.asyncDispose]: () => handle.close() }
  }

  /** Makes a written file the baseline of a checkpoint, and removes all others but `previous`. */
  async keep(path: string, manifestSha256: string, previous: string | undefined): Promise<void> {
    await rename(path, join(this.#directory, manifestSha256))
    for (const name of await readdir(this.#directory)) {
      const stays = [manifestSha256, previous, UNFINISHED].includes(name)
      if (!stays) await rm(join(this.#directory, name), { force: true })
    }
  }

  /** Marks a restore into the tree as begun. Until `finished`, the tree's content must not be kept. */
  async begun(): Promise<void> {
    await writeFile(join(this.#directory, UNFINISHED), '', { mode: 0o600 })
  }

  /** Marks the tree as whole again, or empty. */
  async finished(): Promise<void> {
    await rm(join(this.#directory, UNFINISHED), { force: true })
  }

  /** Returns true if a restore into the tree has begun and not finished. */
  async isUnfinished(): Promise<boolean> {
    return access(join(this.#directory, UNFINISHED)).then(
      () => true,
      () => false,
    )
  }

  async abandon(path: string): Promise<void> {
    await rm(path, { force: true })
  }
}
