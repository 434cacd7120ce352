import { PutObjectCommand, type S3Client } from '@aws-sdk/client-s3'
import { BlobsUnavailable } from './blobs.ts'
import type { LentUpload } from './lent-upload.ts'

const DIGEST_HEADER = 'x-amz-content-sha256'
const TRY_MS = 30_000
/** A text with its digest, and another. */
const tried = {
  text: 'berth',
  sha256: '5c2f64c7f21efd5fb5e3d6a499abe5eacb248ae6f6f0085387c9a056d10ef5fd',
  other: 'other',
} as const

/** A request as the client would send it. */
interface SignedRequest {
  readonly protocol: string
  readonly hostname: string
  readonly port?: number
  readonly path: string
  readonly query?: Readonly<Record<string, string>>
  readonly headers: Record<string, string>
}

/**
 * Signs a put that somebody else sends. A presigned URL would cover no content; a request that is signed in its headers
 * covers the digest, which every store with signatures of version 4 has to compare.
 */
export async function signPut(
  client: S3Client,
  object: { readonly Bucket: string; readonly Key: string },
  sha256: string,
): Promise<LentUpload> {
  const command = new PutObjectCommand(object)
  command.middlewareStack.add(
    next => async args => {
      ;(args.request as SignedRequest).headers[DIGEST_HEADER] = sha256
      return await next(args)
    },
    { step: 'build', name: 'signOtherContent' },
  )
  let signed: SignedRequest | undefined
  command.middlewareStack.addRelativeTo(
    () => async (args: { readonly request: unknown }) => {
      signed = args.request as SignedRequest
      return { response: undefined, output: { $metadata: {} } }
    },
    { relation: 'after', toMiddleware: 'httpSigningMiddleware', name: 'keepUnsent' },
  )
  await client.send(command)
  if (signed === undefined) throw new Error('the client did not sign the request')
  return toUpload(signed)
}

/** Whoever sends it adds the name of the store and the length of the content. */
function toUpload({ protocol, hostname, port, path, query = {}, headers }: SignedRequest): LentUpload {
  const { host: _, 'content-length': __, ...rest } = headers
  const { origin } = new URL(`${protocol}//${hostname}${port === undefined ? '' : `:${port}`}`)
  const asked = new URLSearchParams(query).toString()
  return { url: `${origin}${path}${asked === '' ? '' : `?${asked}`}`, headers: rest }
}

/**
 * Returns true if the store refuses content that has not the digest of its signature, and takes content that has.
 * @param sign signs a put of an object that is no blob
 * @throws BlobsUnavailable if that cannot be told now
 */
export async function holdsToDigests(sign: (sha256: string) => Promise<LentUpload>): Promise<boolean> {
  const put = async (content: string) => {
    const { url, headers } = await sign(tried.sha256)
    try {
      const answer = await fetch(url, {
        ...{ method: 'PUT', headers, body: content, redirect: 'error' },
        signal: AbortSignal.timeout(TRY_MS),
      })
      await answer.body?.cancel()
      return answer.status
    } catch (error) {
      throw new BlobsUnavailable(error)
    }
  }
  const [wrong, right] = [await put(tried.other), await put(tried.text)]
  if (wrong >= 500 || right >= 500) throw new BlobsUnavailable(`the store answered ${Math.max(wrong, right)}`)
  return wrong >= 400 && right < 300
}
