import type { Database } from '@berth/platform/storage/postgres/database.ts'

const PAGE = 10_000

/**
 * Every blob that a row names: of Turns' files, sealed logs, Artifacts, reviews, checkpoints, engines of releases, archives, caches,
 * images and merges that are being placed.
 */
const namedBlobs = `
  select file ->> 'sha256' as sha256 from turns, jsonb_array_elements(files) as file
  union all select sha256 from event_pages
  union all select sha256 from artifacts
  union all select document_sha256 from reviews
  union all select pack_sha256 from reviews where pack_sha256 is not null
  union all select files_sha256 from reviews where files_sha256 is not null
  union all select unnest(blobs) from checkpoints
  union all select engine_sha256 from runtime_release_probes
  union all select sha256 from runtime_release_engines
  union all select sha256 from environment_archives
  union all select unnest(blobs) from environment_caches
  union all select unnest(blobs) from environment_images
  union all select engine_sha256 from leases where engine_sha256 is not null and ended_at is null
  union all select merging ->> 'pack' from leases where merging ->> 'pack' is not null and ended_at is null`

/**
 * Yields the digests of every blob that a row names, as of one moment after the call. A cursor holds the snapshot, so
 * memory does not grow with the tables.
 */
export async function* readNamedBlobs(db: Database): AsyncGenerator<string> {
  const pages = new Pages()
  const reading = db
    .transaction(
      async tx => {
        await tx.query(`declare named no scroll cursor for ${namedBlobs}`)
        for (;;) {
          const { rows } = await tx.query<{ sha256: string }>(`fetch ${PAGE} from named`)
          if (rows.length === 0 || !(await pages.give(rows.map(row => row.sha256)))) return
        }
      },
      { isolation: 'repeatable read', readOnly: true, unbounded: true },
    )
    .then(
      () => pages.end(),
      error => pages.fail(error),
    )
  try {
    yield* pages.take()
  } finally {
    pages.leave()
    await reading
  }
}

/** Passes pages from a transaction to an iterator, one at a time. */
class Pages {
  #offer = Promise.withResolvers<readonly string[] | null>()
  #taken = Promise.withResolvers<boolean>()

  /** @returns true if the reader wants another page */
  async give(page: readonly string[]): Promise<boolean> {
    this.#offer.resolve(page)
    const wanted = await this.#taken.promise
    this.#taken = Promise.withResolvers<boolean>()
    return wanted
  }

  end(): void {
    this.#offer.resolve(null)
  }

  fail(error: unknown): void {
    this.#offer.promise.catch(() => undefined)
    this.#offer.reject(error)
  }

  leave(): void {
    this.#taken.resolve(false)
  }

  async *take(): AsyncGenerator<string> {
    for (;;) {
      const page = await this.#offer.promise
      if (page === null) return
      yield* page
      this.#offer = Promise.withResolvers()
      this.#taken.resolve(true)
    }
  }
}
