import { createHash } from 'node:crypto'
import { existsSync, lstatSync } from 'node:fs'
import { readFile, stat } from 'node:fs/promises'
import { arch } from 'node:process'
import { canonicalJson } from '@berth/platform/kit/request-hash.ts'
import type { HostCache } from '@berth/platform/storage/host-cache.ts'
import type { LayerSupport } from '../driver.ts'
import { DiskBoundError, usedBytes, withinDisk } from '../linux/disk-bound.ts'
import { systemPath } from '../linux/run-program.ts'
import { buildLayer } from './build-layer.ts'
import { type PackageSources, readSources } from './package-sources.ts'
import { PackagesFailed } from './packages-failed.ts'

/** Where this host's dpkg says what is installed. */
const STATUS = '/var/lib/dpkg/status'
/** Largest layer; what building it takes beside it included. */
const LAYER_BYTES = 2 * 1024 ** 3
const BUILD_MS = 10 * 60_000
/** Counted up when layers are made in another way. */
const FORMAT = 1

/** Where packages come from, and how this host shows them. */
export interface PackageOptions {
  /** Where layers are kept. */
  readonly cache: HostCache
  readonly support: LayerSupport
  /** A file of apt's sources; null: those of this host. */
  readonly sources: string | null
  /** Name or path of the bubblewrap program. */
  readonly bwrap?: string
}

/** A layer on this host. */
export interface Layer {
  readonly digest: string
  /** Its directory, as `SandboxSpec.layer` names it. */
  readonly directory: string
  /** Whether this call made it. */
  readonly isNew: boolean
}

/**
 * The layers of system packages of this host: what apt installs over the host's own system, apart from it. Sandboxes of
 * every environment that names the same packages show the same layer.
 */
export class PackageLayers {
  readonly #options: PackageOptions
  #status: { readonly changedAt: number; readonly digest: string; readonly installed: ReadonlySet<string> } | null =
    null

  constructor(options: PackageOptions) {
    this.#options = options
  }

  /** Returns why this host can make no layers, in words for people; null if it can. */
  get fault(): string | null {
    const { support } = this.#options
    if ('fault' in support) return support.fault
    for (const program of ['apt-get', 'apt-cache', 'dpkg'])
      if (!systemPath.split(':').some(directory => existsSync(`${directory}/${program}`))) return `it has no ${program}`
    if (!this.knowsSystem) return 'it has no list of installed packages'
    return lstatSync('/bin').isSymbolicLink() ? null : 'its /bin is not a part of /usr'
  }

  /** Whether this host tells which packages it has. */
  get knowsSystem(): boolean {
    return existsSync(STATUS)
  }

  /** Whether all of the packages belong to this host's own system. */
  async areInstalled(names: readonly string[]): Promise<boolean> {
    const { installed } = await this.#readStatus()
    return names.every(name => installed.has(name))
  }

  /** Returns the name of the layer that these packages make of this host's system. */
  async digestOf(names: readonly string[]): Promise<string> {
    const { digest: system } = await this.#readStatus()
    const { digest: sources } = await this.#readSources()
    const text = canonicalJson({ format: FORMAT, names: [...new Set(names)].toSorted(), arch, system, sources })
    return createHash('sha256').update(text).digest('hex')
  }

  /** Returns the layer of some packages if this host has it, and notes its use. */
  async find(names: readonly string[]): Promise<Layer | null> {
    const digest = await this.digestOf(names)
    const directory = await this.#options.cache.find(digest)
    return directory === null ? null : { digest, directory, isNew: false }
  }

  /**
   * Returns the layer of some packages, made now if it is missing.
   * @param tell takes what the installation writes; nothing if another caller makes the layer
   * @param onWait is called before that, when the installation goes on for this caller as well
   * @throws PackagesFailed with all that it wrote, HostFull, or the signal's reason
   */
  async provide(
    names: readonly string[],
    onOutput: (text: string) => void,
    signal: AbortSignal,
    onWait: () => void,
  ): Promise<Layer> {
    const { cache, support, bwrap = 'bwrap' } = this.#options
    if ('fault' in support) throw new Error(`this host makes no layers: ${support.fault}`)
    const digest = await this.digestOf(names)
    const sources = await this.#readSources()
    let isNew = false
    const made = cache.provide(
      digest,
      LAYER_BYTES,
      async (fresh, abort) => {
        const inTime = AbortSignal.any([abort, AbortSignal.timeout(BUILD_MS)])
        try {
          await withinDisk(fresh, LAYER_BYTES, inTime, within =>
            buildLayer(fresh, { names, sources, bwrap, ...support }, onOutput, within),
          )
          isNew = true
        } catch (error) {
          abort.throwIfAborted()
          if (inTime.aborted) throw new PackagesFailed('berth: the packages were not installed within 10 minutes\n')
          if (!(error instanceof DiskBoundError)) throw error
          throw new PackagesFailed('berth: the packages take more than 2 GiB\n', { cause: error })
        }
        return await usedBytes(fresh)
      },
      signal,
    )
    onWait()
    const directory = await made
    return { digest, directory, isNew }
  }

  /** Removes layers that no sandbox has shown for a while, and what there is no room for. */
  async tidy(keptSince: Date, signal: AbortSignal): Promise<number> {
    return await this.#options.cache.tidy(({ usedAt }) => usedAt >= keptSince, signal)
  }

  #readSources(): Promise<PackageSources> {
    return readSources(this.#options.sources)
  }

  async #readStatus() {
    const { mtimeMs: changedAt } = await stat(STATUS)
    if (this.#status?.changedAt === changedAt) return this.#status
    const text = await readFile(STATUS)
    const digest = createHash('sha256').update(text).digest('hex')
    this.#status = { changedAt, digest, installed: installedIn(text.toString()) }
    return this.#status
  }
}

/** Returns the names of the installed packages in dpkg's list. */
function installedIn(status: string): ReadonlySet<string> {
  const installed = new Set<string>()
  for (const entry of status.split('\n\n')) {
    const name = /^Package: (\S+)$/m.exec(entry)?.[1]
    if (name !== undefined && /^Status: \S+ ok installed$/m.test(entry)) installed.add(name)
  }
  return installed
}
