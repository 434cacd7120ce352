import { createReadStream } from 'node:fs'
import { ApiError } from '@berth/platform/kit/api-error.ts'
import type { Log } from '@berth/platform/kit/log.ts'
import { counted } from '@berth/platform/kit/progress.ts'
import type { Blobs } from '@berth/platform/storage/blobs/blobs.ts'
import type { SandboxExtension } from '@berth/sandboxes/lease-program.ts'
import { digestOf, type StoredDocument } from '../document.ts'
import type { ExtensionCatalog } from './catalog.ts'
import { unpackedNames } from './contents.ts'
import type { TenantShares } from './tenant-shares.ts'
import { ExtensionFault, type UnpackedExtension, type UnpackedExtensions } from './unpacked-extensions.ts'

/** Where a host has extensions from. */
export interface ExtensionSources {
  readonly catalog: ExtensionCatalog
  readonly unpacked: UnpackedExtensions
  readonly shares: TenantShares
}

/** What became of one extension of a document, as `svc.environment.apply` tells it. */
export interface ExtensionResult {
  /** The slug, or `sha256:` and the digest. */
  readonly ref: string
  readonly id?: string
  readonly version?: string
  readonly sha256?: string
  readonly state: 'active' | 'failed'
  /** For `failed` why; for `active` what was left out. */
  readonly reason?: string
}

/** An extension of a document, and its content unless it failed. */
export interface FoundExtension {
  readonly result: ExtensionResult
  readonly extension: UnpackedExtension | null
}

/** Extensions that are not on this host in this time are done without, so that no store can hold a Session up for ever. */
const FIND_MS = 2 * 60_000
/** Most characters of a reason. */
export const MAX_REASON = 300

/**
 * Finds the extensions of a document on this host, in its order: the catalog's release of now, or the archive, unpacked.
 * One that cannot be had does not affect the others.
 * @throws the signal's reason
 */
export async function findExtensions(
  { blobs, log }: { readonly blobs: Blobs; readonly log: Log },
  { catalog, unpacked, shares }: ExtensionSources,
  { organizationId, extensions }: Pick<StoredDocument, 'extensions'> & { readonly organizationId: string },
  signal: AbortSignal,
): Promise<readonly FoundExtension[]> {
  const inTime = AbortSignal.any([signal, AbortSignal.timeout(FIND_MS)])
  const found: FoundExtension[] = []
  const ids = new Set<string>()
  for (const { catalog: slug, archive } of extensions) {
    const ref = slug ?? archive ?? ''
    try {
      const extension = slug === undefined ? await byDigest(digestOf(ref)) : await bySlug(slug)
      const { identity, sha256, leftOut } = extension
      const about = { ref, id: identity.id, version: identity.version, sha256 }
      if (ids.has(identity.id)) found.push(failed(about, 'duplicate_id'))
      else found.push({ result: { ...about, ...activeBut(leftOut) }, extension })
      ids.add(identity.id)
    } catch (error) {
      signal.throwIfAborted()
      if (!(error instanceof ExtensionFault)) log.warn({ err: error, ref }, 'an extension could not be unpacked')
      const sha256 = slug === undefined ? { sha256: digestOf(ref) } : {}
      found.push(failed({ ref, ...sha256 }, reasonOf(error)))
    }
  }
  return found

  async function byDigest(sha256: string): Promise<UnpackedExtension> {
    await shares.take(organizationId, sha256)
    try {
      const read = async () => counted(await blobs.get(sha256), (await blobs.stat(sha256))?.sizeBytes)
      return await unpacked.provide(sha256, read, inTime)
    } catch (error) {
      shares.giveBack(organizationId, sha256)
      throw error
    }
  }

  async function bySlug(slug: string): Promise<UnpackedExtension> {
    const release = await catalog.find(slug)
    if (release === null) throw new ExtensionFault('missing')
    return await unpacked.provide(release.sha256, async () => createReadStream(release.path), inTime)
  }
}

/** Returns the directories that a sandbox with these extensions is to see. */
export const shownOf = (found: readonly FoundExtension[]): readonly SandboxExtension[] =>
  found.flatMap(({ extension }) => {
    if (extension === null) return []
    const { identity, directory, sha256 } = extension
    const content = `${sha256}-content`
    return [{ id: identity.id, directory: `${directory}/${unpackedNames.content}`, content }]
  })

/** Returns the state of an extension of which parts were left out. */
export const activeBut = (leftOut: readonly string[]): Pick<ExtensionResult, 'state' | 'reason'> => ({
  state: 'active',
  ...(leftOut.length > 0 && { reason: clip(leftOut.join('; ')) }),
})

const failed = (about: Omit<ExtensionResult, 'state' | 'reason'>, reason: string): FoundExtension => ({
  result: { ...about, state: 'failed', reason: clip(reason) },
  extension: null,
})

function reasonOf(error: unknown): string {
  if (error instanceof ExtensionFault) return error.message
  if (error instanceof ApiError && error.code === 'cloud_extension_catalog_unavailable')
    return 'the catalog of extensions cannot be read on the host'
  if (isTimeout(error)) return 'it could not be unpacked in time'
  return 'it could not be unpacked; the log of the service says why'
}

const isTimeout = (error: unknown) => error instanceof DOMException && error.name === 'TimeoutError'

const clip = (text: string): string => [...text].slice(0, MAX_REASON).join('')
