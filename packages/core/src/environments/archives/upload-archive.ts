import { environmentLimits } from '@berth/contract'
import { refusal } from '@berth/platform/kit/refusal.ts'
import { type Spooled, spool } from '@berth/platform/storage/blobs/spool.ts'
import type { Queryable } from '@berth/platform/storage/postgres/database.ts'
import type { Context } from '../../context.ts'
import { conflict } from '../environment-conflict.ts'
import { type EnvironmentKey, findEnvironment, lockEnvironment, lockOrganization } from '../environment-sql.ts'
import { countOtherBytes, insertArchive, renewArchive, type StoredArchive } from './archive-sql.ts'
import { bringsNothing } from './brings-nothing.ts'
import { readManifest } from './manifest.ts'
import { archiveRefusal, readArchive } from './read-archive.ts'

const MEMORY_BYTES = 1_048_576
const CHUNK_BYTES = 1_048_576

/** Where uploads wait until they are checked. */
export interface Spooling {
  /** Directory for uploads that do not stay in memory. */
  readonly spoolDirectory: string
}

/**
 * Stores an extension's archive for an environment once its digest and its content are checked. A repeat changes nothing
 * and needs no room.
 * @throws ApiError 400 `environment_invalid`, 404, 409 `environment_conflict` if the environment is archived, 409
 * `quota_exceeded`; whatever reading the content throws
 */
export async function uploadArchive(
  { db, blobs, clock, spoolDirectory }: Pick<Context, 'db' | 'blobs' | 'clock'> & Spooling,
  key: EnvironmentKey,
  sha256: string,
  content: AsyncIterable<Uint8Array>,
): Promise<{ readonly created: boolean; readonly archive: StoredArchive }> {
  requireLive(await findEnvironment(db, key))
  const { archiveBytes } = environmentLimits
  await using spooled = await spool(content, {
    memoryBytes: MEMORY_BYTES,
    maxBytes: archiveBytes,
    directory: spoolDirectory,
  })
  if (spooled.sha256 !== sha256) throw archiveRefusal(['sha256'], `is not the digest of the body: ${spooled.sha256}`)
  const { manifest, names } = await readArchive(spooled)
  const { identity: extension, contributes } = readManifest(manifest)
  if (!(await blobs.has(sha256, spooled.sizeBytes))) await blobs.put(chunksOf(spooled))
  return await db.transaction(async tx => {
    const now = clock.now()
    await lockOrganization(tx, key.organizationId)
    requireLive(await lockEnvironment(tx, key))
    const owned = await renewArchive(tx, key, sha256, now)
    if (owned !== null) return { created: false, archive: owned }
    await requireBytes(tx, key.organizationId, spooled)
    const brings_nothing = bringsNothing(contributes, names)
    const archive: StoredArchive = { sha256, size_bytes: spooled.sizeBytes, extension, brings_nothing }
    await insertArchive(tx, key, archive, now)
    return { created: true, archive }
  })
}

function requireLive(row: Awaited<ReturnType<typeof findEnvironment>>): void {
  if (row === null) throw refusal('environment_not_found')
  if (row.archived_at !== null) throw conflict('the environment is archived')
}

/** @throws ApiError 409 `quota_exceeded` if the organization's archives leave no room for this one */
async function requireBytes(tx: Queryable, organizationId: string, { sha256, sizeBytes }: Spooled): Promise<void> {
  const others = await countOtherBytes(tx, organizationId, sha256)
  if (others + sizeBytes > environmentLimits.archivesBytes) throw refusal('quota_exceeded')
}

async function* chunksOf(spooled: Spooled): AsyncGenerator<Uint8Array> {
  for (let position = 0; position < spooled.sizeBytes; position += CHUNK_BYTES)
    yield await spooled.read(position, CHUNK_BYTES)
}
