import { createHash, randomUUID } from 'node:crypto'
import { access, mkdir, readdir, rename, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { environmentLimits } from '@berth/contract'
import type { Clock } from '@berth/platform/kit/clock.ts'
import type { Log } from '@berth/platform/kit/log.ts'
import { type FetchOptions, getPublic } from '@berth/platform/network/public-get.ts'

/** An archive of the catalog that this host fetches. */
export interface Download {
  readonly url: string
  readonly sha256: string
}

export interface DownloadOptions extends Pick<FetchOptions, 'network' | 'mayDial' | 'ca'> {
  readonly directory: string
  /** Digests of the archives that the configuration names. */
  readonly named: ReadonlySet<string>
  readonly clock: Clock
  readonly log: Pick<Log, 'warn'>
}

/** Bound of one fetch, from the resolution of the host to the last byte. */
const FETCH_MS = 30_000
/** Fetches of a list at once. */
const ROUND_WIDTH = 4
/** A fetch that failed is tried again no sooner. */
const RETRY_MS = 60_000
/** A process with an older configuration may still read what this one does not name, while it is replaced. */
const UNNAMED_MS = 24 * 60 * 60_000

/** Archives of the catalog's URLs, each fetched once into a file that its digest names. */
export class Downloads {
  readonly #options: DownloadOptions
  readonly #fetching = new Map<string, Promise<string | null>>()
  /** When the last fetch of a URL failed, in milliseconds. */
  readonly #failedAt = new Map<string, number>()
  #round: Promise<void> | null = null

  constructor(options: DownloadOptions) {
    this.#options = options
  }

  /** Returns the path of an archive on this host; null if it cannot be had now. The reason is in the log. */
  async provide(source: Download): Promise<string | null> {
    const there = await this.find(source)
    if (there !== null) return there
    if (this.hasFailed(source)) return null
    const fetching = this.#fetching.get(source.sha256) ?? this.#fetch(source, this.#pathOf(source))
    this.#fetching.set(source.sha256, fetching)
    return await fetching.finally(() => this.#fetching.delete(source.sha256))
  }

  /** Returns whether the last fetch failed, and it is too soon for another. */
  hasFailed({ url }: Pick<Download, 'url'>): boolean {
    const since = this.#options.clock.now().getTime() - (this.#failedAt.get(url) ?? Number.NEGATIVE_INFINITY)
    return since < RETRY_MS
  }

  /** Fetches archives, a few at once and for all callers together. A caller waits only so long; the fetches go on. */
  async provideAll(sources: readonly Download[], waitMs: number): Promise<void> {
    this.#round ??= this.#provideAll(sources).finally(() => {
      this.#round = null
    })
    await Promise.race([this.#round, setTimeout(waitMs, undefined, { ref: false })])
  }

  async #provideAll(sources: readonly Download[]): Promise<void> {
    const rest = sources.values()
    const provideRest = async () => {
      for (const source of rest) await this.provide(source)
    }
    await Promise.all(Array.from({ length: ROUND_WIDTH }, provideRest))
  }

  /** Returns the path of an archive that was fetched; null if it was not. */
  async find(source: Pick<Download, 'sha256'>): Promise<string | null> {
    const path = this.#pathOf(source)
    return await access(path).then(
      () => path,
      () => null,
    )
  }

  /** Removes archives that the configuration no longer names, and what dead processes left. @returns how many files */
  async tidy(): Promise<number> {
    const { directory, named, clock } = this.#options
    let removed = 0
    for (const name of await readdir(directory).catch(() => [])) {
      if (named.has(name.replace(/\.zip$/, ''))) continue
      const path = join(directory, name)
      const found = await stat(path).catch(() => null)
      if (found === null || found.mtimeMs > clock.now().getTime() - UNNAMED_MS) continue
      await rm(path, { force: true })
      removed += 1
    }
    return removed
  }

  #pathOf({ sha256 }: Pick<Download, 'sha256'>): string {
    return join(this.#options.directory, `${sha256}.zip`)
  }

  async #fetch({ url, sha256 }: Download, path: string): Promise<string | null> {
    const { directory, clock, log, ...reach } = this.#options
    const staging = join(directory, `.new-${randomUUID()}`)
    try {
      await mkdir(directory, { recursive: true, mode: 0o700 })
      const hash = createHash('sha256')
      const maxBytes = environmentLimits.archiveBytes
      const content = getPublic(url, { ...reach, maxBytes, signal: AbortSignal.timeout(FETCH_MS) })
      await writeFile(staging, hashed(content, hash), { flag: 'wx', mode: 0o600 })
      const found = hash.digest('hex')
      if (found !== sha256) throw new Error(`its digest is ${found}`)
      await rename(staging, path)
      // A process without sandboxes has no keeper.
      await this.tidy().catch(error => log.warn({ err: error, directory }, 'old downloads could not be removed'))
      return path
    } catch (error) {
      this.#failedAt.set(url, clock.now().getTime())
      log.warn({ err: error, url, sha256 }, 'an extension of the catalog could not be fetched')
      await rm(staging, { force: true })
      return null
    }
  }
}

async function* hashed(content: AsyncIterable<Buffer>, hash: ReturnType<typeof createHash>): AsyncGenerator<Buffer> {
  for await (const chunk of content) {
    hash.update(chunk)
    yield chunk
  }
}
