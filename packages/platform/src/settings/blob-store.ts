import { resolve } from 'node:path'
import { StartError } from '../kit/start-error.ts'
import type { S3Keys, S3Location } from '../storage/blobs/s3-client.ts'
import type { Environment } from './environment.ts'
import { parseWebUrl } from './web-url.ts'

/** The store that keeps blobs, and its address. */
export type BlobStore =
  | { readonly kind: 'file'; readonly directory: string }
  | { readonly kind: 's3'; readonly location: S3Location }

/** The blob store and the time that it keeps unreferenced blobs. */
export interface BlobSettings {
  readonly store: BlobStore
  /** Grace period: the sweep keeps a blob at least this long after its last put, even if no row names it. */
  readonly graceMs: number
}

type Named = { readonly directory: string } | Pick<S3Location, 'bucket' | 'prefix'>

export function readBlobs(env: Environment, dataDir: string): BlobSettings {
  return {
    store: readBlobStore(env, dataDir),
    graceMs: 86_400_000,
  }
}

/** Reads `BERTH_BLOBS` and the AWS variables. The latter count only if `BERTH_BLOBS` names a bucket. */
export function readBlobStore(env: Environment, dataDir: string): BlobStore {
  const named = env.parsed(
    'BERTH_BLOBS',
    'Store of Artifacts and checkpoints, the same for all processes of a database: `file:<directory>` or `s3://<bucket>/<prefix>`. Set it to a bucket for more than one machine.',
    '`blobs` in the data directory',
    parseBlobs,
    'file:<directory> or s3://<bucket>/<prefix>',
  )
  const aws = (name: string, meaning: string, fallback = 'absent', range = 'any text') =>
    env.text(name, meaning, fallback, range)
  const accessKeyId = aws(
    'AWS_ACCESS_KEY_ID',
    'Access key for the bucket. Set it if the machine has no credentials of its own.',
    'absent: the profile, role or identity that the machine has',
  )
  const secretAccessKey = aws('AWS_SECRET_ACCESS_KEY', 'Secret key for the bucket. Set it with `AWS_ACCESS_KEY_ID`.')
  const sessionToken = aws(
    'AWS_SESSION_TOKEN',
    'Session token, if the credentials for the bucket are temporary. Set it with temporary keys.',
  )
  const namedRegion = aws(
    'AWS_REGION',
    'Region of the bucket. Set it for a bucket at AWS.',
    '`us-east-1` if `AWS_ENDPOINT_URL` is set',
  )
  const endpoint = aws(
    'AWS_ENDPOINT_URL',
    'URL of a store other than AWS. Set it for MinIO, Ceph and the like.',
    'absent',
    'an http or https URL without query',
  )
  if (named === undefined) return { kind: 'file', directory: resolve(dataDir, 'blobs') }
  if ('directory' in named) return { kind: 'file', directory: resolve(named.directory) }

  if (endpoint !== undefined && parseWebUrl(endpoint) === undefined) {
    throw new StartError('AWS_ENDPOINT_URL must be an http or https URL without query')
  }
  const region = namedRegion ?? (endpoint === undefined ? undefined : 'us-east-1')
  if (region === undefined) throw new StartError('BERTH_BLOBS names a bucket, so AWS_REGION must be set')
  return {
    kind: 's3',
    location: {
      ...named,
      region,
      endpoint,
      keys: toKeys(accessKeyId, secretAccessKey, sessionToken),
    },
  }
}

function toKeys(accessKeyId?: string, secretAccessKey?: string, sessionToken?: string): S3Keys | null {
  if (accessKeyId !== undefined && secretAccessKey !== undefined) return { accessKeyId, secretAccessKey, sessionToken }
  if (accessKeyId === undefined && secretAccessKey === undefined) return null
  const [set, missing] =
    accessKeyId === undefined
      ? (['SECRET_ACCESS_KEY', 'ACCESS_KEY_ID'] as const)
      : (['ACCESS_KEY_ID', 'SECRET_ACCESS_KEY'] as const)
  throw new StartError(`AWS_${set} is set, so AWS_${missing} must be set too`)
}

/** A bucket name by S3's rules, and a prefix of characters that need no escape in a key, a URL or a header. */
const s3Pattern = /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:\/((?:[A-Za-z0-9_-][A-Za-z0-9._-]*\/)*))?$/

function parseBlobs(text: string): Named | undefined {
  if (/^file:./.test(text)) return { directory: text.slice('file:'.length) }
  if (text.length > 512) return undefined
  const [, bucket, prefix = ''] = s3Pattern.exec(text.endsWith('/') ? text : `${text}/`) ?? []
  return bucket === undefined ? undefined : { bucket, prefix }
}
