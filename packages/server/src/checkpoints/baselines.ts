import { randomUUID } from 'node:crypto'
import { access, type FileHandle, mkdir, open, readdir, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

/** Lies beside the baselines, where no sandbox sees it. */
const UNFINISHED = 'unfinished-restore'

/** A baseline being written; disposing closes it. */
export interface NewBaseline extends AsyncDisposable {
  readonly path: string
  readonly handle: FileHandle
}

/**
 * Baselines of one tree, in a directory that no sandbox sees and that goes with the tree: one file per checkpoint,
 * named by its manifest's digest. The one before is kept beside the newest, because only the caller knows which of the
 * two is recorded at last. All of it may be lost at any time, at the cost of reading the whole tree once.
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

  /** The baseline that a checkpoint left of this tree. */
  async read(manifestSha256: string): Promise<FileHandle | undefined> {
    try {
      return await open(join(this.#directory, manifestSha256))
    } catch (error) {
      if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
      throw error
    }
  }

  /** A file to write the next baseline to. */
  async begin(): Promise<NewBaseline> {
    const path = join(this.#directory, `new-${randomUUID()}`)
    const handle = await open(path, 'wx', 0o600)
    return { path, handle, [Symbol.asyncDispose]: () => handle.close() }
  }

  /** Makes a written file the baseline of a checkpoint, and forgets all others but one. */
  async keep(path: string, manifestSha256: string, previous: string | undefined): Promise<void> {
    await rename(path, join(this.#directory, manifestSha256))
    for (const name of await readdir(this.#directory)) {
      const stays = [manifestSha256, previous, UNFINISHED].includes(name)
      if (!stays) await rm(join(this.#directory, name), { force: true })
    }
  }

  /** Says that a restore into the tree has begun, until `finished`: what lies there by then is no tree to keep. */
  async begun(): Promise<void> {
    await writeFile(join(this.#directory, UNFINISHED), '', { mode: 0o600 })
  }

  /** Says that the tree is whole again, or empty. */
  async finished(): Promise<void> {
    await rm(join(this.#directory, UNFINISHED), { force: true })
  }

  /** Whether a restore into the tree has begun and not finished. */
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
