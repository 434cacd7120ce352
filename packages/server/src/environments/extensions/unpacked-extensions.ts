import { randomUUID } from 'node:crypto'
import {
  chmod,
  type FileHandle,
  mkdir,
  open,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  utimes,
  writeFile,
} from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { environmentLimits } from '@berth/contract'
import { ApiError } from '../../kit/api-error.ts'
import { BlobCorrupt, BlobMissing } from '../../storage/blobs/blobs.ts'
import { BlobTooLarge, spool } from '../../storage/blobs/spool.ts'
import { type ExtensionIdentity, parseManifest } from '../archives/manifest.ts'
import { type ArchiveSink, readArchive } from '../archives/read-archive.ts'
import { type ExtensionContents, readContents, unpackedNames } from './contents.ts'

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
const ASIDE = '.aside-'
const STAGING = '.new-'
const digestPattern = /^[a-f0-9]{64}$/
const MEMORY_BYTES = 1024 ** 2

/**
 * Extensions of this host, each unpacked once into a directory that its digest names. A directory appears by a rename
 * when all of it has been checked, and never changes. Sandboxes see it read-only while they live, so it may go only
 * when no sandbox is left that began before its last use.
 */
export class UnpackedExtensions {
  readonly #directory: string
  readonly #maxBytes: number
  /** What is being unpacked in this process, by digest. */
  readonly #unpacking = new Map<string, Promise<UnpackedExtension>>()

  /** @param maxBytes bound of all extensions together; beyond it none is unpacked until `tidy` has made room */
  constructor(directory: string, maxBytes: number) {
    this.#directory = directory
    this.#maxBytes = maxBytes
  }

  /**
   * Returns an extension unpacked, and notes its use.
   * @param content its archive; read only if it is not there yet
   * @throws ExtensionFault; whatever else reading the content throws
   */
  async provide(sha256: string, content: () => Promise<AsyncIterable<Uint8Array>>): Promise<UnpackedExtension> {
    if (!digestPattern.test(sha256)) throw new TypeError('not a digest')
    const there = await this.#find(sha256)
    if (there !== null) return there
    const running = this.#unpacking.get(sha256) ?? this.#unpack(sha256, content)
    this.#unpacking.set(sha256, running)
    try {
      return await running
    } finally {
      this.#unpacking.delete(sha256)
    }
  }

  /**
   * Deletes extensions that nobody has used since a time, and leftovers of crashes from before it.
   * @param unusedSince no sandbox that began before it may live
   * @returns the number of extensions
   */
  async tidy(unusedSince: Date): Promise<number> {
    let deleted = 0
    for (const name of await readdir(this.#directory).catch(() => [])) {
      const path = join(this.#directory, name)
      if ((await lastUse(path)) >= unusedSince) continue
      if (digestPattern.test(name)) {
        const aside = join(this.#directory, `${ASIDE}${randomUUID()}`)
        await rename(path, aside)
        // Somebody may have noted a use since; the name leads to it again before its sandbox is made.
        if ((await lastUse(aside)) >= unusedSince) await rename(aside, path).catch(() => undefined)
        else deleted += 1
        await rm(aside, { recursive: true, force: true })
      } else if (name.startsWith(ASIDE) || name.startsWith(STAGING)) await rm(path, { recursive: true, force: true })
    }
    return deleted
  }

  async #find(sha256: string): Promise<UnpackedExtension | null> {
    const directory = join(this.#directory, sha256)
    try {
      const now = new Date()
      await utimes(directory, now, now)
      // Only this class writes it, in a directory that no sandbox can write.
      const about = JSON.parse(await readFile(join(directory, ABOUT), 'utf8')) as About
      return { sha256, directory, ...about }
    } catch (error) {
      if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null
      throw error
    }
  }

  async #unpack(sha256: string, content: () => Promise<AsyncIterable<Uint8Array>>): Promise<UnpackedExtension> {
    await mkdir(this.#directory, { recursive: true, mode: 0o700 })
    if ((await this.#usedBytes()) + environmentLimits.archiveExpandedBytes > this.#maxBytes)
      throw new ExtensionFault('this host has no room for another extension')
    const staging = join(this.#directory, `${STAGING}${randomUUID()}`)
    try {
      await mkdir(staging)
      const about = await unpackInto(staging, sha256, content, this.#directory)
      await writeFile(join(staging, ABOUT), JSON.stringify(about))
      await chmod(staging, 0o755)
      const directory = join(this.#directory, sha256)
      await rename(staging, directory).catch(error => {
        // Another process was first.
        if (!['EEXIST', 'ENOTEMPTY'].includes(error.code)) throw error
      })
      return { sha256, directory, ...about }
    } finally {
      await rm(staging, { recursive: true, force: true })
    }
  }

  async #usedBytes(): Promise<number> {
    let used = 0
    for (const name of await readdir(this.#directory)) {
      if (!digestPattern.test(name)) continue
      const about = await readFile(join(this.#directory, name, ABOUT), 'utf8').catch(() => '{"bytes":0}')
      used += (JSON.parse(about) as About).bytes
    }
    return used
  }
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

/** What a file system spends on a file or directory besides its bytes. */
const BLOCK_BYTES = 4096

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

const lastUse = (path: string): Promise<Date> =>
  stat(path).then(
    ({ mtime }) => mtime,
    () => new Date(0),
  )
