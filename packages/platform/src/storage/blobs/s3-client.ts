import { S3Client, S3ServiceException } from '@aws-sdk/client-s3'
import { StartError } from '../../kit/start-error.ts'
import { BlobsUnavailable, StorageFull } from './blobs.ts'

/** Credentials that do not change. */
export interface S3Keys {
  readonly accessKeyId: string
  readonly secretAccessKey: string
  /** Only of temporary credentials. */
  readonly sessionToken?: string | undefined
}

/** Location of a store on S3, and the credentials that open it. */
export interface S3Location {
  readonly bucket: string
  /** Prefix of every key: empty, or a path that ends in a slash. */
  readonly prefix: string
  readonly region: string
  /** URL of a store other than AWS's own; the client addresses it by path. */
  readonly endpoint: string | undefined
  /** Null: the SDK finds credentials where the machine has them, and renews those that expire. */
  readonly keys: S3Keys | null
}

/**
 * Makes a client. With keys it looks nothing up, since it has credentials, region and mode: the SDK reads neither its
 * files nor the machine's metadata address. The client retries requests that fail through the store's fault.
 */
export function createS3Client(location: S3Location): S3Client {
  const { region, endpoint, keys } = location
  return new S3Client({
    region,
    ...(keys !== null && { credentials: toCredentials(keys) }),
    ...(endpoint !== undefined && { endpoint, forcePathStyle: true }),
    defaultsMode: 'standard',
    retryMode: 'standard',
    maxAttempts: 5,
    // The signature covers the digest of every body, and readers verify: some stores do not support further checksums.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    requestHandler: {
      connectionTimeout: 5_000,
      requestTimeout: 60_000,
      throwOnRequestTimeout: true,
      // This timeout would also count the time in which a slow reader takes nothing; the readers of bodies watch them
      // instead.
      socketTimeout: 0,
      // The time spent waiting for a connection counts against the request, and a slow reader keeps its connection.
      httpAgent: { maxSockets: 256 },
      httpsAgent: { maxSockets: 256 },
    },
  })
}

const toCredentials = ({ accessKeyId, secretAccessKey, sessionToken }: S3Keys) => ({
  accessKeyId,
  secretAccessKey,
  ...(sessionToken !== undefined && { sessionToken }),
})

/** Returns true if the store answered that there is no such object. For a HEAD, a missing bucket looks the same. */
export function isMissingObject(error: unknown): boolean {
  return error instanceof S3ServiceException && (error.name === 'NoSuchKey' || error.name === 'NotFound')
}

/** Returns true if the store does not know a multipart upload; it also forgets one that is complete. */
export function isMissingUpload(error: unknown): boolean {
  return error instanceof S3ServiceException && error.name === 'NoSuchUpload'
}

/** Returns true if the store did not write because the key has an object or is just being given one. */
export function isThereAlready(error: unknown): boolean {
  const status = error instanceof S3ServiceException ? error.$metadata.httpStatusCode : undefined
  return status === 412 || status === 409
}

/** Returns true if the store does not support conditional writes. */
export function lacksConditions(error: unknown): boolean {
  return error instanceof S3ServiceException && error.$metadata.httpStatusCode === 501
}

/** Translates an error of the client into an error of storage. */
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
  CredentialsProviderError:
    'no credentials were found; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or give this machine a profile or a role',
}

/** Explains to the operator why a store cannot be opened. */
export function toS3StartError(error: unknown, { bucket, endpoint, region }: S3Location): StartError {
  const code = error instanceof Error && 'code' in error ? String(error.code) : undefined
  const name = error instanceof Error ? error.name : 'Error'
  const reason = remedies[name] ?? code ?? `${name}: ${error instanceof Error ? error.message : String(error)}`
  const place = endpoint ?? `AWS in ${region}`
  return new StartError(`BERTH_BLOBS: the bucket ${bucket} at ${place} cannot be used: ${reason}`, { cause: error })
}
