import { randomUUID } from 'node:crypto'
import { access, type FileHandle, mkdir, open, readdir, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { ignoring } from '@berth/platform/kit/system-errors.ts'
import type { BaselineEnd } from '../lease-program.ts'

/** Marks an unfinished restore; a file beside the baselines, where no sandbox sees it. */
const UNFINISHED = 'unfinished-restore'
const PREFIX = 'new-'
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/
const DIGEST = /^[0-9a-f]{64}$/

/** A baseline being written. */
interface OpenBaseline {
  readonly id: string
  readonly handle: FileHandle
}

/**
 * Baselines of one tree, in a directory that no sandbox sees and that is removed with the tree. Each checkpoint has one
 * file, named by its manifest's digest. The newest two stay, because only the caller knows which of them it has
 * recorded. Losing all of them at any time only costs reading the whole tree once.
 */
export class Baselines {
  readonly #directory: string

  /** @param directory of a tree that is there; it is made by `begin` */
  constructor(directory: string) {
    this.#directory = directory
  }

  /** Returns the baseline of a checkpoint of this tree, if it still exists. */
  async read(manifestSha256: string): Promise<FileHandle | undefined> {
    return ignoring(['ENOENT'], open(join(this.#directory, digest(manifestSha256))))
  }

  /** Opens a file for the next baseline. */
  async begin(): Promise<OpenBaseline> {
    await mkdir(this.#directory, { recursive: true, mode: 0o700 })
    const id = randomUUID()
    return { id, handle: await open(this.#path(id), 'wx', 0o600) }
  }

  /** Marks a restore into the tree as begun. Until its baseline is settled, the tree's content must not be kept. */
  async begun(): Promise<void> {
    await writeFile(join(this.#directory, UNFINISHED), '', { mode: 0o600 })
  }

  /** Returns true if a restore into the tree has begun and not finished. */
  async isUnfinished(): Promise<boolean> {
    return access(join(this.#directory, UNFINISHED)).then(
      () => true,
      () => false,
    )
  }

  /** Makes a written file the baseline of a checkpoint and removes all others but the previous, or removes the file. */
  async settle(id: string, end: BaselineEnd): Promise<void> {
    if (typeof end === 'string') await rm(this.#path(id), { force: true })
    else await this.#keep(this.#path(id), digest(end.kept), end.previous)
    if (end !== 'abandoned') await rm(join(this.#directory, UNFINISHED), { force: true })
  }

  async #keep(path: string, manifestSha256: string, previous: string | undefined): Promise<void> {
    await rename(path, join(this.#directory, manifestSha256))
    for (const name of await readdir(this.#directory)) {
      const stays = [manifestSha256, previous, UNFINISHED].includes(name)
      if (!stays) await rm(join(this.#directory, name), { force: true })
    }
  }

  #path(id: string): string {
    if (!UUID.test(id)) throw new TypeError(`not a baseline: ${JSON.stringify(id)}`)
    return join(this.#directory, PREFIX + id)
  }
}

function digest(text: string): string {
  if (!DIGEST.test(text)) throw new TypeError(`not the digest of a manifest: ${JSON.stringify(text)}`)
  return text
}
