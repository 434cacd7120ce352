import { S3Client, S3ServiceException } from '@aws-sdk/client-s3'
import { StartError } from '../../kit/start-error.ts'
import { BlobsUnavailable, StorageFull } from './blobs.ts'

/** Where a store on S3 is, and how it is opened. */
export interface S3Location {
  readonly bucket: string
  /** What every key begins with: empty, or a path that ends in a slash. */
  readonly prefix: string
  readonly region: string
  /** A store other than AWS's own, which is then addressed by path. */
  readonly endpoint: string | undefined
  readonly accessKeyId: string
  readonly secretAccessKey: string
  readonly sessionToken: string | undefined
}

/**
 * A client that knows all it needs and looks for nothing: with credentials, region and mode given, the SDK asks neither
 * its files nor the metadata address of a machine. Requests that fail for the store's sake are repeated by it.
 */
export function createS3Client(location: S3Location): S3Client {
  const { region, endpoint, accessKeyId, secretAccessKey, sessionToken } = location
  return new S3Client({
    region,
    credentials: { accessKeyId, secretAccessKey, ...(sessionToken !== undefined && { sessionToken }) },
    ...(endpoint !== undefined && { endpoint, forcePathStyle: true }),
    defaultsMode: 'standard',
    retryMode: 'standard',
    maxAttempts: 5,
    // The signature covers the digest of every body, and readers verify: further checksums only trouble lesser stores.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    requestHandler: {
      connectionTimeout: 5_000,
      requestTimeout: 60_000,
      throwOnRequestTimeout: true,
      // Counts the time in which a slow reader takes nothing, too; bodies are watched where they are read.
      socketTimeout: 0,
      // Waiting for a connection counts as time of the request, and a slow reader holds its one.
      httpAgent: { maxSockets: 256 },
      httpsAgent: { maxSockets: 256 },
    },
  })
}

/** Whether the store answered that there is no such object. Of a HEAD it cannot be told from a bucket that has gone. */
export function isMissingObject(error: unknown): boolean {
  return error instanceof S3ServiceException && (error.name === 'NoSuchKey' || error.name === 'NotFound')
}

/** Whether a multipart upload is unknown, as it also is once it is complete. */
export function isMissingUpload(error: unknown): boolean {
  return error instanceof S3ServiceException && error.name === 'NoSuchUpload'
}

/** Whether the store did not write because an object has the key, or is just being given it. */
export function isThereAlready(error: unknown): boolean {
  const status = error instanceof S3ServiceException ? error.$metadata.httpStatusCode : undefined
  return status === 412 || status === 409
}

/** Whether the store does not know writes on a condition. */
export function lacksConditions(error: unknown): boolean {
  return error instanceof S3ServiceException && error.$metadata.httpStatusCode === 501
}

/** What the client threw, as storage names it. */
export function toBlobsError(error: unknown): Error {
  const full = error instanceof S3ServiceException && error.$metadata.httpStatusCode === 507
  return full ? new StorageFull(error) : new BlobsUnavailable(error)
}

const remedies: Readonly<Record<string, string>> = {
  NoSuchBucket: 'it does not exist',
  AccessDenied: 'the credentials do not allow it',
  InvalidAccessKeyId: 'the store does not know AWS_ACCESS_KEY_ID',
  SignatureDoesNotMatch: 'AWS_SECRET_ACCESS_KEY does not belong to AWS_ACCESS_KEY_ID',
  ExpiredToken: 'AWS_SESSION_TOKEN has expired',
  PermanentRedirect: 'it is in another region than AWS_REGION says',
  AuthorizationHeaderMalformed: 'it is in another region than AWS_REGION says',
  RequestTimeTooSkewed: "this machine's clock is wrong",
}

/** Why a store cannot be opened, for its operator. */
export function toS3StartError(error: unknown, { bucket, endpoint, region }: S3Location): StartError {
  const code = error instanceof Error && 'code' in error ? String(error.code) : undefined
  const name = error instanceof Error ? error.name : 'Error'
  const reason = remedies[name] ?? code ?? `${name}: ${error instanceof Error ? error.message : String(error)}`
  const place = endpoint ?? `AWS in ${region}`
  return new StartError(`BERTH_BLOBS: the bucket ${bucket} at ${place} cannot be used: ${reason}`, { cause: error })
}
