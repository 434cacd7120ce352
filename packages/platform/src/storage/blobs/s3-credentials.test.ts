import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { silentLog } from '@berth/testing/services/log.ts'
import { type S3Server, startS3Server } from '@berth/testing/storage/s3-server.ts'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import { StartError } from '../../kit/start-error.ts'
import { BlobsUnavailable } from './blobs.ts'
import { S3Blobs } from './s3-blobs.ts'
import type { S3Keys } from './s3-client.ts'

const stack = new AsyncDisposableStack()
let store: S3Server
let keys: S3Keys
let machine: Server
let url: string
let directory: string
/** What the machine answers about credentials. */
let answer: (request: IncomingMessage, response: ServerResponse, body: string) => void
let requested: string[]

beforeAll(async () => {
  store = stack.use(await startS3Server())
  keys = store.location().keys as S3Keys
  directory = await mkdtemp(join(tmpdir(), 'berth-credentials-'))
  stack.defer(() => rm(directory, { recursive: true }))
  machine = createServer(async (request, response) => {
    const body = (await buffer(request)).toString()
    requested.push(`${request.method} ${request.url}`)
    answer(request, response, body)
  })
  await new Promise<void>(listening => machine.listen(0, '127.0.0.1', listening))
  stack.defer(() => new Promise<void>(closed => machine.close(() => closed())))
  url = `http://127.0.0.1:${(machine.address() as AddressInfo).port}`
})
afterAll(() => stack.disposeAsync())

let files = 0
beforeEach(() => {
  requested = []
  answer = (_request, response) => response.writeHead(404).end()
  // What this machine has by itself counts in no test, and no test asks an address of its network.
  for (const name of Object.keys(process.env)) if (name.startsWith('AWS_')) vi.stubEnv(name, undefined)
  vi.stubEnv('AWS_EC2_METADATA_DISABLED', 'true')
  // The SDK keeps what it has read of a path.
  files += 1
  vi.stubEnv('AWS_CONFIG_FILE', join(directory, `config-${files}`))
  vi.stubEnv('AWS_SHARED_CREDENTIALS_FILE', join(directory, `credentials-${files}`))
})
afterEach(() => vi.unstubAllEnvs())

const open = () =>
  S3Blobs.open({ ...store.location(), keys: null }, { spoolDirectory: directory, log: silentLog, idleMs: 5_000 })

/** Puts and reads a blob with the credentials that are found. */
async function works(): Promise<void> {
  using blobs = await open()
  const { sha256 } = await blobs.put(Buffer.from('x'))
  expect((await buffer(await blobs.get(sha256))).toString()).toBe('x')
}

const inMs = (ms: number) => new Date(Date.now() + ms).toISOString()
const minute = 60_000
const answered = (expiration: string) =>
  JSON.stringify({
    Code: 'Success',
    AccessKeyId: keys.accessKeyId,
    SecretAccessKey: keys.secretAccessKey,
    Token: 'session',
    Expiration: expiration,
  })

test('a profile', async () => {
  const path = process.env.AWS_SHARED_CREDENTIALS_FILE ?? ''
  await writeFile(
    path,
    `[berth]\naws_access_key_id = ${keys.accessKeyId}\naws_secret_access_key = ${keys.secretAccessKey}\n`,
  )
  vi.stubEnv('AWS_PROFILE', 'berth')
  await works()
})

test('the endpoint of a container, asked again only when the credentials have expired', async () => {
  const token = join(directory, 'token')
  await writeFile(token, 'of the pod')
  vi.stubEnv('AWS_CONTAINER_CREDENTIALS_FULL_URI', `${url}/v1/credentials`)
  vi.stubEnv('AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE', token)
  answer = ({ headers }, response) => {
    const isKnown = headers.authorization === 'of the pod'
    response.writeHead(isKnown ? 200 : 401, { 'content-type': 'application/json' })
    response.end(answered(inMs(60 * minute)))
  }
  await works()
  expect(requested).toEqual(['GET /v1/credentials'])

  requested = []
  answer = (_request, response) =>
    response.writeHead(200, { 'content-type': 'application/json' }).end(answered(inMs(-minute)))
  await works()
  expect(requested.length).toBeGreaterThan(1)
})

test('a web identity, as the service account of a pod has one', async () => {
  const token = join(directory, 'identity')
  await writeFile(token, 'signed.by.cluster')
  vi.stubEnv('AWS_WEB_IDENTITY_TOKEN_FILE', token)
  vi.stubEnv('AWS_ROLE_ARN', 'arn:aws:iam::000000000000:role/berth')
  vi.stubEnv('AWS_REGION', 'us-east-1')
  vi.stubEnv('AWS_ENDPOINT_URL_STS', url)
  answer = (_request, response, body) => {
    const given = new URLSearchParams(body)
    const isKnown = given.get('WebIdentityToken') === 'signed.by.cluster'
    response.writeHead(isKnown ? 200 : 403, { 'content-type': 'text/xml' })
    response.end(
      `<AssumeRoleWithWebIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><AssumeRoleWithWebIdentityResult><Credentials><AccessKeyId>${keys.accessKeyId}</AccessKeyId><SecretAccessKey>${keys.secretAccessKey}</SecretAccessKey><SessionToken>session</SessionToken><Expiration>${inMs(60 * minute)}</Expiration></Credentials></AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>`,
    )
  }
  await works()
  expect(requested).toEqual(['POST /'])
})

test('the role of an instance', async () => {
  vi.stubEnv('AWS_EC2_METADATA_DISABLED', undefined)
  vi.stubEnv('AWS_EC2_METADATA_SERVICE_ENDPOINT', url)
  answer = (request, response) => {
    const path = request.url ?? ''
    if (path === '/latest/api/token') return response.end('metadata')
    if (request.headers['x-aws-ec2-metadata-token'] !== 'metadata') return response.writeHead(401).end()
    if (path.endsWith('/security-credentials/')) return response.end('berth')
    return response.end(answered(inMs(60 * minute)))
  }
  await works()
  expect(requested.some(each => each.includes('security-credentials'))).toBe(true)
})

test('a machine that has none stops the start, and says what to set', async () => {
  const failed = await open().catch(error => error)
  expect(failed).toBeInstanceOf(StartError)
  expect(failed.message).toMatch(/no credentials were found; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or/)
})

test('credentials that can no longer be had make the store unavailable, and not the process', async () => {
  vi.stubEnv('AWS_CONTAINER_CREDENTIALS_FULL_URI', `${url}/v1/credentials`)
  answer = (_request, response) =>
    response.writeHead(200, { 'content-type': 'application/json' }).end(answered(inMs(-minute)))
  using blobs = await open()
  answer = (_request, response) => response.writeHead(403).end()
  await expect(blobs.put(Buffer.from('y'))).rejects.toBeInstanceOf(BlobsUnavailable)
  answer = (_request, response) =>
    response.writeHead(200, { 'content-type': 'application/json' }).end(answered(inMs(-minute)))
  await blobs.put(Buffer.from('y'))
})
