import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import {
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  CopyObjectCommand,
  CreateMultipartUploadCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  HeadObjectCommand,
  ListMultipartUploadsCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  type S3Client,
  UploadPartCommand,
} from '@aws-sdk/client-s3'
import type { Log } from '../../kit/log.ts'
import {
  type AsideEntry,
  type BlobEntry,
  BlobMissing,
  type BlobRef,
  BlobsUnavailable,
  type IdentifiedBlobs,
  identityName,
  requireSha256,
  StorageFull,
} from './blobs.ts'
import {
  createS3Client,
  isMissingObject,
  isMissingUpload,
  isThereAlready,
  lacksConditions,
  type S3Location,
  toBlobsError,
  toS3StartError,
} from './s3-client.ts'
import { type Spooled, spool } from './spool.ts'
import { verified } from './verified.ts'

const mebibyte = 1024 ** 2
/** Uploads content above this size in parts of this size, so that a failure repeats one part and memory holds one. */
const partBytes = 8 * mebibyte
/** The largest object that S3 copies in one request. `setAside` needs such a copy. */
const maxBytes = 5 * 1024 * mebibyte
const staleUploadMs = 24 * 60 * 60 * 1000
const asideName = 'aside/'

/** Settings of the store besides its location. */
export interface S3BlobsOptions {
  /** Directory that holds large content until its digest is known. */
  readonly spoolDirectory: string
  readonly log: Log
  /** Gives up a body that has brought nothing for this long. */
  readonly idleMs?: number
  /** Renews the time of a move to the side that took longer than this. */
  readonly slowMoveMs?: number
}

/**
 * Blobs as objects of one bucket, `<prefix>ab/cdef…`, which any number of processes may share. The key is the digest,
 * so a put first reads its source to the end. S3 then shows the object whole or not at all, whether it came in one
 * request or in parts, and every request may be repeated. `LastModified` is the time of the last put; for a multipart
 * upload, the time at which it began. Blobs that are set aside lie below `<prefix>aside/`.
 */
export class S3Blobs implements IdentifiedBlobs {
  readonly #client: S3Client
  readonly #bucket: string
  readonly #prefix: string
  readonly #spoolDirectory: string
  readonly #log: Log
  readonly #idleMs: number
  readonly #slowMoveMs: number

  /**
   * Opens a store: makes sure that the bucket answers and aborts multipart uploads that died long ago.
   * @throws StartError
   */
  static async open(location: S3Location, options: S3BlobsOptions): Promise<S3Blobs> {
    const blobs = new S3Blobs(location, options)
    try {
      await blobs.#requireBucket()
    } catch (error) {
      blobs.#client.destroy()
      throw toS3StartError(error, location)
    }
    await blobs.#abortStaleUploads()
    return blobs
  }

  private constructor(location: S3Location, options: S3BlobsOptions) {
    this.#client = createS3Client(location)
    this.#bucket = location.bucket
    this.#prefix = location.prefix
    this.#spoolDirectory = options.spoolDirectory
    this.#log = options.log
    this.#idleMs = options.idleMs ?? 60_000
    this.#slowMoveMs = options.slowMoveMs ?? 60_000
  }

  /** Closes the connections. */
  [Symbol.dispose](): void {
    this.#client.destroy()
  }

  /** Uploads even content that exists: that renews its time and repairs a corrupt object. */
  async put(content: Uint8Array | AsyncIterable<Uint8Array>): Promise<BlobRef> {
    await using spooled = await this.#spool(content)
    const { sha256, sizeBytes } = spooled
    await this.#ask(async () => {
      if (sizeBytes <= partBytes) await this.#putWhole(spooled)
      // The answer to a completion may be lost; the retry then finds no upload. Uploading again is always right.
      else await this.#putParts(spooled).catch(error => this.#putPartsAgain(spooled, error))
    })
    return { sha256, sizeBytes }
  }

  async get(sha256: string): Promise<Readable> {
    const body = await this.#find(sha256, key => this.#read(key))
    if (body === undefined) throw new BlobMissing(sha256)
    const content = arriving(body, this.#idleMs)
    // If the stream is destroyed before its first read, the generator never runs and so closes nothing.
    return Readable.from(verified(content, sha256), { objectMode: false }).once('close', () => void body.destroy())
  }

  async stat(sha256: string): Promise<BlobRef | undefined> {
    const sizeBytes = await this.#find(sha256, key => this.#size(key))
    return sizeBytes === undefined ? undefined : { sha256, sizeBytes }
  }

  async has(sha256: string, sizeBytes?: number): Promise<boolean> {
    const found = await this.#size(this.#key(sha256))
    return found !== undefined && (sizeBytes === undefined || found === sizeBytes)
  }

  async delete(sha256: string): Promise<void> {
    await this.#remove(this.#key(sha256))
    await this.#remove(this.#asideKey(sha256))
  }

  async identity(): Promise<string | undefined> {
    const body = await this.#read(this.#prefix + identityName)
    return body && (await this.#ask(() => text(arriving(body, this.#idleMs)))).trim()
  }

  async identify(identity: string): Promise<void> {
    const object = { Bucket: this.#bucket, Key: this.#prefix + identityName, Body: `${identity}\n` }
    await this.#ask(async () => {
      try {
        await this.#client.send(new PutObjectCommand({ ...object, IfNoneMatch: '*' }))
      } catch (error) {
        if (isThereAlready(error)) return
        if (!lacksConditions(error)) throw error
        await this.#client.send(new PutObjectCommand(object))
      }
    })
  }

  async *list(): AsyncIterable<BlobEntry> {
    for await (const { sha256, sizeBytes, at } of this.#objects(this.#prefix)) yield { sha256, sizeBytes, putAt: at }
  }

  /**
   * Copies, then removes: readers always find the blob in one of the two places. A put between the two steps is removed
   * as well, but the copy is the same content. The copy's time then precedes that put. The collector's grace period
   * covers this unless the process was suspended in between, so a slow move renews the time before it does anything
   * else.
   */
  async setAside(sha256: string): Promise<void> {
    const [key, aside] = [this.#key(sha256), this.#asideKey(sha256)]
    const startedAt = performance.now()
    if (!(await this.#copy(key, aside))) return
    await this.#remove(key)
    if (performance.now() - startedAt > this.#slowMoveMs) await this.#copy(aside, aside)
  }

  async *listAside(): AsyncIterable<AsideEntry> {
    for await (const { sha256, sizeBytes, at } of this.#objects(this.#prefix + asideName)) {
      yield { sha256, sizeBytes, asideAt: at }
    }
  }

  async bringBack(sha256: string): Promise<void> {
    const there = await this.has(sha256)
    if (!there && !(await this.#copy(this.#asideKey(sha256), this.#key(sha256)))) return
    await this.discard(sha256)
  }

  async discard(sha256: string): Promise<void> {
    await this.#remove(this.#asideKey(sha256))
  }

  #key(sha256: string): string {
    requireSha256(sha256)
    return `${this.#prefix}${sha256.slice(0, 2)}/${sha256.slice(2)}`
  }

  #asideKey(sha256: string): string {
    requireSha256(sha256)
    return `${this.#prefix}${asideName}${sha256.slice(0, 2)}/${sha256.slice(2)}`
  }

  /** Looks in both places, then in the first again: a sweep may bring the blob back between two looks. */
  async #find<T>(sha256: string, read: (key: string) => Promise<T | undefined>): Promise<T | undefined> {
    const key = this.#key(sha256)
    return (await read(key)) ?? (await read(this.#asideKey(sha256))) ?? (await read(key))
  }

  /** Spools content. Errors of the source pass through; errors of the spool become errors of storage. */
  async #spool(content: Uint8Array | AsyncIterable<Uint8Array>): Promise<Spooled> {
    try {
      return await spool(content, { memoryBytes: partBytes, maxBytes, directory: this.#spoolDirectory })
    } catch (error) {
      throw error instanceof Error && 'code' in error && error.code === 'ENOSPC' ? new StorageFull(error) : error
    }
  }

  async #putWhole(spooled: Spooled): Promise<void> {
    const Body = await spooled.read(0, spooled.sizeBytes)
    await this.#client.send(new PutObjectCommand({ Bucket: this.#bucket, Key: this.#key(spooled.sha256), Body }))
  }

  async #putPartsAgain(spooled: Spooled, error: unknown): Promise<void> {
    if (!isMissingUpload(error)) throw error
    await this.#putParts(spooled)
  }

  async #putParts(spooled: Spooled): Promise<void> {
    const object = { Bucket: this.#bucket, Key: this.#key(spooled.sha256) }
    const { UploadId } = await this.#client.send(new CreateMultipartUploadCommand(object))
    try {
      const Parts: { PartNumber: number; ETag: string | undefined }[] = []
      for (let position = 0; position < spooled.sizeBytes; position += partBytes) {
        const PartNumber = Parts.length + 1
        const Body = await spooled.read(position, partBytes)
        const { ETag } = await this.#client.send(new UploadPartCommand({ ...object, UploadId, PartNumber, Body }))
        Parts.push({ PartNumber, ETag })
      }
      const MultipartUpload = { Parts }
      await this.#client.send(new CompleteMultipartUploadCommand({ ...object, UploadId, MultipartUpload }))
    } catch (error) {
      // If this fails too, a later start aborts the upload.
      await this.#client.send(new AbortMultipartUploadCommand({ ...object, UploadId })).catch(() => undefined)
      throw error
    }
  }

  async #read(Key: string): Promise<Readable | undefined> {
    const answer = await this.#askFor(() => this.#client.send(new GetObjectCommand({ Bucket: this.#bucket, Key })))
    if (answer === undefined) return undefined
    if (!(answer.Body instanceof Readable)) throw new BlobsUnavailable('an object without a body')
    // A connection that breaks before anyone reads must not end the process; the reader gets the error all the same.
    return answer.Body.on('error', () => undefined)
  }

  async #size(Key: string): Promise<number | undefined> {
    const answer = await this.#askFor(() => this.#client.send(new HeadObjectCommand({ Bucket: this.#bucket, Key })))
    return answer && (answer.ContentLength ?? 0)
  }

  /** Copies an object within the store, with a new time; returns false if there is no such object. */
  async #copy(from: string, to: string): Promise<boolean> {
    const request = new CopyObjectCommand({
      Bucket: this.#bucket,
      CopySource: `${this.#bucket}/${from}`,
      Key: to,
      // S3 copies an object onto itself only if something about it changes.
      MetadataDirective: 'REPLACE',
    })
    return (await this.#askFor(() => this.#client.send(request))) !== undefined
  }

  async #remove(Key: string): Promise<void> {
    await this.#ask(() => this.#client.send(new DeleteObjectCommand({ Bucket: this.#bucket, Key })))
  }

  async *#objects(Prefix: string): AsyncGenerator<{ sha256: string; sizeBytes: number; at: Date }> {
    let ContinuationToken: string | undefined
    do {
      const request = new ListObjectsV2Command({ Bucket: this.#bucket, Prefix, ContinuationToken })
      const page = await this.#ask(() => this.#client.send(request))
      for (const { Key = '', Size = 0, LastModified } of page.Contents ?? []) {
        const [, fan, rest] = /^([0-9a-f]{2})\/([0-9a-f]{62})$/.exec(Key.slice(Prefix.length)) ?? []
        if (fan === undefined || rest === undefined || LastModified === undefined) continue
        yield { sha256: fan + rest, sizeBytes: Size, at: LastModified }
      }
      ContinuationToken = page.IsTruncated === true ? page.NextContinuationToken : undefined
    } while (ContinuationToken !== undefined)
  }

  async #requireBucket(): Promise<void> {
    await this.#client.send(new ListObjectsV2Command({ Bucket: this.#bucket, Prefix: this.#prefix, MaxKeys: 1 }))
  }

  /** A store that cannot list uploads, or does not allow it, has its own rule for removing them. */
  async #abortStaleUploads(): Promise<void> {
    const before = Date.now() - staleUploadMs
    const Bucket = this.#bucket
    try {
      const request = new ListMultipartUploadsCommand({ Bucket, Prefix: this.#prefix })
      const { Uploads = [] } = await this.#client.send(request)
      for (const { Key, UploadId, Initiated } of Uploads) {
        if (Initiated === undefined || Initiated.getTime() > before) continue
        await this.#client.send(new AbortMultipartUploadCommand({ Bucket, Key, UploadId }))
      }
    } catch (err) {
      this.#log.warn({ err }, 'abandoned uploads could not be removed from the bucket')
    }
  }

  async #ask<T>(request: () => Promise<T>): Promise<T> {
    try {
      return await request()
    } catch (error) {
      throw toBlobsError(error)
    }
  }

  /** Like `#ask`, but returns undefined if there is no such object. */
  async #askFor<T>(request: () => Promise<T>): Promise<T | undefined> {
    try {
      return await request()
    } catch (error) {
      if (isMissingObject(error)) return undefined
      throw toBlobsError(error)
    }
  }
}

/**
 * Yields the bytes of a body as they arrive. A body that breaks off or stays silent ends in BlobsUnavailable; the time
 * that the reader takes between two reads does not count.
 */
async function* arriving(body: Readable, idleMs: number): AsyncGenerator<Buffer> {
  const chunks: AsyncIterator<Buffer> = body[Symbol.asyncIterator]()
  const next = async (): Promise<IteratorResult<Buffer>> => {
    const timer = setTimeout(() => body.destroy(new Error(`no byte in ${idleMs} ms`)), idleMs)
    try {
      return await chunks.next()
    } catch (error) {
      throw new BlobsUnavailable(error)
    } finally {
      clearTimeout(timer)
    }
  }
  for (let step = await next(); step.done !== true; step = await next()) yield step.value
}
