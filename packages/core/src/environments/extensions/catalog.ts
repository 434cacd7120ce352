import { createReadStream } from 'node:fs'
import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import {
  type CatalogExtension,
  type EnvironmentDraft,
  type ExtensionList,
  environmentLimits,
  type MissingExtension,
} from '@berth/contract'
import type { Log } from '@berth/platform/kit/log.ts'
import { refusal } from '@berth/platform/kit/refusal.ts'
import { errorCode } from '@berth/platform/kit/system-errors.ts'
import type { CatalogSource } from '@berth/platform/settings/config-file.ts'
import { spool } from '@berth/platform/storage/blobs/spool.ts'
import semver from 'semver'
import { type ExtensionIdentity, parseManifest } from '../archives/manifest.ts'
import { readArchive } from '../archives/read-archive.ts'
import type { Downloads } from './downloads.ts'

/** The release of an extension that sandboxes get. */
export interface CatalogRelease {
  readonly slug: string
  readonly identity: ExtensionIdentity
  readonly sha256: string
  readonly sizeBytes: number
  /** The highest version of all, where this platform cannot run it. */
  readonly newest?: string
  /** Path of its archive on this host. */
  readonly path: string
}

/** An archive of the catalog that was read. */
interface Archive extends Omit<CatalogRelease, 'slug' | 'newest'> {
  readonly compatible: boolean
}

export interface CatalogOptions {
  /** Holds archives whose slug follows from their id. It need not exist. */
  readonly directory: string
  readonly sources: readonly CatalogSource[]
  readonly downloads: Downloads
  /** Bound of a list's wait for archives that are fetched. */
  readonly waitMs?: number
  readonly spoolDirectory: string
  readonly log: Pick<Log, 'warn'>
}

const slugPattern = /^[a-z][a-z0-9-]{0,127}$/
const MEMORY_BYTES = 1024 ** 2
const WAIT_MS = 5_000

/**
 * The extensions that the operator offers. The files are looked at on every call, so the operator adds a release by
 * putting it there; an archive is read again only if it has changed. An archive that cannot be used is logged and left
 * out.
 */
export class ExtensionCatalog {
  readonly #options: CatalogOptions
  /** What each file held when it was last read, by path. */
  readonly #read = new Map<string, { readonly stamp: string; readonly archive: Promise<Archive | null> }>()

  constructor(options: CatalogOptions) {
    this.#options = options
  }

  /**
   * Returns each extension at its highest version that this platform can run, by slug, and the named ones that cannot be
   * had now. It waits only so long for those that are fetched.
   * @throws ApiError 503 `cloud_extension_catalog_unavailable` if the directory cannot be read
   */
  async list(): Promise<ExtensionList> {
    const { downloads, sources, waitMs = WAIT_MS } = this.#options
    await downloads.provideAll(sources.filter(isDownload), waitMs)
    const { releases, missing } = await this.#collect(sources)
    return { extensions: releases.map(toCatalogExtension), ...(missing.length > 0 && { missing }) }
  }

  /** Reads what this host has of the directory and of these sources. */
  async #collect(sources: readonly CatalogSource[]) {
    const { downloads } = this.#options
    const offers = new Map<string, Archive[]>()
    const add = (slug: string, archive: Archive) => offers.set(slug, [...(offers.get(slug) ?? []), archive])
    for (const path of await this.#files()) {
      const archive = await this.#archiveAt(path)
      if (archive === null) continue
      const slug = archive.identity.id.replaceAll('.', '-')
      if (slugPattern.test(slug)) add(slug, archive)
    }
    const missing: MissingExtension[] = []
    for (const source of sources) {
      const path = isDownload(source) ? await downloads.find(source) : source.path
      const archive = path === null ? null : await this.#archiveAt(path)
      if (archive !== null) add(source.slug, archive)
      else {
        const isLate = isDownload(source) && path === null && !downloads.hasFailed(source)
        missing.push({ slug: source.slug, reason: isLate ? 'late' : 'unavailable' })
      }
    }
    const releases = [...offers].flatMap(([slug, archives]) => releaseOf(slug, archives)).toSorted(bySlug)
    return { releases, missing }
  }

  /**
   * Returns the releases of these slugs. Archives of others are not fetched.
   * @throws ApiError 503 `cloud_extension_catalog_unavailable`
   */
  async #releasesOf(slugs: ReadonlySet<string>): Promise<readonly CatalogRelease[]> {
    const sources = this.#options.sources.filter(({ slug }) => slugs.has(slug))
    await Promise.all(sources.filter(isDownload).map(source => this.#options.downloads.provide(source)))
    return (await this.#collect(sources)).releases.filter(({ slug }) => slugs.has(slug))
  }

  /** @throws ApiError 503 `cloud_extension_catalog_unavailable` */
  async find(slug: string): Promise<CatalogRelease | null> {
    return (await this.#releasesOf(new Set([slug])))[0] ?? null
  }

  /**
   * Returns the slugs that a document may name. The catalog is read only for a document that names one.
   * @throws ApiError 503 `cloud_extension_catalog_unavailable`
   */
  async slugsFor({ extensions = [] }: Pick<EnvironmentDraft, 'extensions'>): Promise<ReadonlySet<string>> {
    const named = new Set(extensions.flatMap(({ catalog }) => catalog ?? []))
    if (named.size === 0) return named
    return new Set((await this.#releasesOf(named)).map(({ slug }) => slug))
  }

  /** Returns by slug the releases that need a newer platform, as far as this host has them. It fetches nothing. */
  async newer(): Promise<ReadonlyMap<string, string>> {
    const { releases } = await this.#collect(this.#options.sources).catch(() => ({ releases: [] }))
    return new Map(releases.flatMap(({ slug, newest }) => (newest === undefined ? [] : [[slug, newest]])))
  }

  /** Removes what was downloaded and is no longer named. @returns how many files */
  tidy(): Promise<number> {
    return this.#options.downloads.tidy()
  }

  async #files(): Promise<readonly string[]> {
    const { directory, log } = this.#options
    try {
      const names = await readdir(directory)
      return names
        .filter(name => name.endsWith('.zip'))
        .toSorted()
        .map(name => join(directory, name))
    } catch (error) {
      if (errorCode(error) === 'ENOENT') return []
      log.warn({ err: error, directory }, 'the catalog of extensions cannot be read')
      throw refusal('cloud_extension_catalog_unavailable')
    }
  }

  async #archiveAt(path: string): Promise<Archive | null> {
    const found = await stat(path).catch(() => null)
    if (found === null) {
      this.#options.log.warn({ path }, 'an extension of the catalog is not there')
      return null
    }
    const stamp = `${found.ino} ${found.size} ${found.mtimeMs}`
    const known = this.#read.get(path)
    if (known?.stamp === stamp) return await known.archive
    const archive = this.#readArchive(path)
    this.#read.set(path, { stamp, archive })
    return await archive
  }

  async #readArchive(path: string): Promise<Archive | null> {
    const { log, spoolDirectory: directory } = this.#options
    try {
      const maxBytes = environmentLimits.archiveBytes
      await using content = await spool(createReadStream(path), { memoryBytes: MEMORY_BYTES, maxBytes, directory })
      const { identity, compatible } = parseManifest((await readArchive(content)).manifest)
      return { identity, compatible, path, sha256: content.sha256, sizeBytes: content.sizeBytes }
    } catch (error) {
      log.warn({ err: error, path }, 'an extension of the catalog cannot be used')
      return null
    }
  }
}

/** Returns a release as clients see it. */
function toCatalogExtension({ slug, identity, sha256, sizeBytes, newest }: CatalogRelease): CatalogExtension {
  return { slug, ...identity, sha256, sizeBytes, ...(newest !== undefined && { newest }) }
}

const isDownload = (source: CatalogSource) => 'url' in source

function releaseOf(slug: string, archives: readonly Archive[]): readonly CatalogRelease[] {
  const sorted = archives.toSorted((a, b) => semver.rcompare(a.identity.version, b.identity.version))
  const release = sorted.find(({ compatible }) => compatible)
  if (release === undefined) return []
  const { compatible: _, ...shown } = release
  const newest = sorted[0]?.identity.version
  const isNewer = newest !== undefined && semver.gt(newest, release.identity.version)
  return [{ slug, ...shown, ...(isNewer && { newest }) }]
}

const bySlug = (a: CatalogRelease, b: CatalogRelease): number => (a.slug < b.slug ? -1 : 1)
