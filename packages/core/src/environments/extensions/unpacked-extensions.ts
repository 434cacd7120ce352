import { chmod, type FileHandle, mkdir, open, readFile, stat, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { addAbortSignal, Readable } from 'node:stream'
import { environmentLimits } from '@berth/contract'
import { ApiError } from '@berth/platform/kit/api-error.ts'
import { BlobCorrupt, BlobMissing } from '@berth/platform/storage/blobs/blobs.ts'
import { BlobTooLarge, spool } from '@berth/platform/storage/blobs/spool.ts'
import { type HostCache, HostFull, type WriteEntry } from '@berth/platform/storage/host-cache.ts'
import { type ExtensionIdentity, parseManifest } from '../archives/manifest.ts'
import { type ArchiveSink, readArchive } from '../archives/read-archive.ts'
import { type ExtensionContents, readContents, unpackedNames } from './contents.ts'
import { BLOCK_BYTES, MAX_UNPACKED_BYTES } from './unpacked-limits.ts'

/** An extension that lies unpacked on this host. */
export interface UnpackedExtension extends ExtensionContents {
  readonly sha256: string
  readonly identity: ExtensionIdentity
  /** Holds the content, and the skills that were made of its commands. */
  readonly directory: string
}

/** An extension that cannot be used. The message is a reason of `svc.environment.apply`. */
export class ExtensionFault extends Error {
  override readonly name = 'ExtensionFault'
}

/** Facts of an unpacked extension; written last, so that its presence proves the rest. */
interface About extends ExtensionContents {
  readonly identity: ExtensionIdentity
  readonly bytes: number
}

const ABOUT = 'about.json'
const digestPattern = /^[a-f0-9]{64}$/
const MEMORY_BYTES = 1024 ** 2

/**
 * Extensions of this host, each unpacked once into a directory that its digest names. A directory appears when all of it
 * has been checked, and never changes. Sandboxes see it read-only.
 */
export class UnpackedExtensions {
  readonly #cache: HostCache
  readonly #spoolDirectory: string

  /** @param spoolDirectory exists, and holds an archive while it is unpacked */
  constructor(cache: HostCache, spoolDirectory: string) {
    this.#cache = cache
    this.#spoolDirectory = spoolDirectory
  }

  /**
   * Returns an extension unpacked, and notes its use.
   * @param content its archive; read only if it is not there yet
   * @throws ExtensionFault, the signal's reason; whatever else reading the content throws
   */
  async provide(
    sha256: string,
    content: () => Promise<AsyncIterable<Uint8Array>>,
    signal: AbortSignal,
  ): Promise<UnpackedExtension> {
    if (!digestPattern.test(sha256)) throw new TypeError('not a digest')
    const write: WriteEntry = async (staging, within) => {
      const about = await unpackInto(staging, sha256, () => readUntil(content, within), this.#spoolDirectory)
      await writeFile(join(staging, ABOUT), JSON.stringify(about))
      await chmod(staging, 0o755)
      return about.bytes
    }
    try {
      return await this.#read(sha256, await this.#cache.provide(sha256, MAX_UNPACKED_BYTES, write, signal))
    } catch (error) {
      if (!(error instanceof HostFull)) throw error
      throw new ExtensionFault('this host has no room for another extension', { cause: error })
    }
  }

  /** Deletes extensions that nobody has used since a time, and those there is no room for. @returns how many */
  async tidy(unusedSince: Date, signal: AbortSignal): Promise<number> {
    return await this.#cache.tidy(({ usedAt }) => usedAt >= unusedSince, signal)
  }

  /** Only this class writes the file, in a directory that no sandbox can write. */
  async #read(sha256: string, directory: string): Promise<UnpackedExtension> {
    const about = JSON.parse(await readFile(join(directory, ABOUT), 'utf8')) as About
    return { sha256, directory, ...about }
  }
}

/** Reads an archive until the signal aborts. */
async function readUntil(
  content: () => Promise<AsyncIterable<Uint8Array>>,
  signal: AbortSignal,
): Promise<AsyncIterable<Uint8Array>> {
  return addAbortSignal(signal, Readable.from(await content()))
}

async function unpackInto(
  staging: string,
  sha256: string,
  content: () => Promise<AsyncIterable<Uint8Array>>,
  spoolDirectory: string,
): Promise<About> {
  const root = join(staging, unpackedNames.content)
  await makeDirectory(root)
  await makeDirectory(join(staging, unpackedNames.commands))
  try {
    await using spooled = await spool(await content(), {
      memoryBytes: MEMORY_BYTES,
      maxBytes: environmentLimits.archiveBytes,
      directory: spoolDirectory,
    })
    if (spooled.sha256 !== sha256) throw new ExtensionFault('corrupt')
    const sink = new DirectorySink(root)
    const manifest = parseManifest((await readArchive(spooled, sink)).manifest)
    if (!manifest.compatible) throw new ExtensionFault('incompatible')
    const bytes = await sink.finish()
    return { identity: manifest.identity, bytes, ...(await readContents(staging, manifest)) }
  } catch (error) {
    if (error instanceof BlobMissing) throw new ExtensionFault('missing', { cause: error })
    const isCorrupt = error instanceof BlobCorrupt || error instanceof BlobTooLarge || error instanceof ApiError
    if (isCorrupt) throw new ExtensionFault('corrupt', { cause: error })
    throw error
  }
}

/** Writes the files of an archive below a directory. Its reader has proved that every name lies below the root. */
class DirectorySink implements ArchiveSink {
  readonly #root: string
  readonly #made = new Set<string>()
  readonly #files: { readonly path: string; readonly mode: number }[] = []

  constructor(root: string) {
    this.#root = root
  }

  async begin(name: string, executable: boolean): Promise<FileHandle | null> {
    const path = join(this.#root, name)
    const isDirectory = name.endsWith('/')
    await this.#make(isDirectory ? path.slice(0, -1) : dirname(path))
    if (isDirectory) return null
    this.#files.push({ path, mode: executable ? 0o555 : 0o444 })
    return await open(path, 'wx', 0o600)
  }

  /** Gives every file its mode. @returns the bytes of all files, and a block for each file and directory */
  async finish(): Promise<number> {
    let bytes = (this.#files.length + this.#made.size) * BLOCK_BYTES
    for (const { path, mode } of this.#files) {
      await chmod(path, mode)
      bytes += (await stat(path)).size
    }
    return bytes
  }

  async #make(path: string): Promise<void> {
    if (path === this.#root || this.#made.has(path)) return
    await this.#make(dirname(path))
    await makeDirectory(path)
    this.#made.add(path)
  }
}

/** Creates a directory that every uid may read, under any umask. */
async function makeDirectory(path: string): Promise<void> {
  await mkdir(path, { recursive: true })
  await chmod(path, 0o755)
}
