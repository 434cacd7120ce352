import { expect, test } from 'vitest'
import { StartError } from '../kit/start-error.ts'
import { readBlobStore } from './blob-store.ts'
import { Environment } from './environment.ts'

const credentials = { AWS_ACCESS_KEY_ID: 'AKID', AWS_SECRET_ACCESS_KEY: 'hunter2' }
const read = (variables: Record<string, string>) => readBlobStore(new Environment(variables), '/data')

function refusal(variables: Record<string, string>): string {
  try {
    read(variables)
  } catch (error) {
    if (error instanceof StartError) return error.message
    throw error
  }
  throw new Error('the settings were accepted')
}

test('the store is a directory unless BERTH_BLOBS names a bucket, whatever the AWS variables say', () => {
  expect(read({})).toEqual({ kind: 'file', directory: '/data/blobs' })
  expect(read({ BERTH_BLOBS: 'file:/var/../blobs', AWS_ENDPOINT_URL: 'no URL' })).toEqual({
    kind: 'file',
    directory: '/blobs',
  })
})

test.each([
  ['s3://bucket', 'bucket', ''],
  ['s3://bucket/', 'bucket', ''],
  ['s3://my.bucket-1/a', 'my.bucket-1', 'a/'],
  ['s3://bucket/a/B_c.d/e-f/', 'bucket', 'a/B_c.d/e-f/'],
])('%s names a bucket and a prefix', (text, bucket, prefix) => {
  expect(read({ BERTH_BLOBS: text, AWS_REGION: 'eu-central-1', ...credentials })).toEqual({
    kind: 's3',
    location: {
      bucket,
      prefix,
      region: 'eu-central-1',
      endpoint: undefined,
      keys: { accessKeyId: 'AKID', secretAccessKey: 'hunter2', sessionToken: undefined },
    },
  })
})

test("a store other than AWS's needs no region", () => {
  const variables = { BERTH_BLOBS: 's3://bucket', AWS_ENDPOINT_URL: 'http://127.0.0.1:9000', ...credentials }
  expect(read({ ...variables, AWS_SESSION_TOKEN: 'token' })).toMatchObject({
    location: { region: 'us-east-1', endpoint: 'http://127.0.0.1:9000', keys: { sessionToken: 'token' } },
  })
})

test.each([
  's3://',
  's3://B',
  's3://ab',
  's3:bucket',
  's3://bucket/a//b',
  's3://bucket/../b',
  's3://bucket/a b',
  'file:',
])('%s is refused', text => {
  expect(refusal({ BERTH_BLOBS: text, AWS_REGION: 'x', ...credentials })).toBe(
    'BERTH_BLOBS must be file:<directory> or s3://<bucket>/<prefix>',
  )
})

test('a bucket without its other settings is refused with the name of the missing one', () => {
  const variables = { BERTH_BLOBS: 's3://bucket', AWS_REGION: 'x', ...credentials }
  expect(refusal({ ...variables, AWS_REGION: '' })).toBe('BERTH_BLOBS names a bucket, so AWS_REGION must be set')
  expect(refusal({ ...variables, AWS_ACCESS_KEY_ID: '' })).toMatch(/so AWS_ACCESS_KEY_ID must be set too$/)
  expect(refusal({ ...variables, AWS_SECRET_ACCESS_KEY: '' })).toMatch(/so AWS_SECRET_ACCESS_KEY must be set too$/)
  expect(refusal({ ...variables, AWS_ENDPOINT_URL: 'store:9000' })).toMatch(/^AWS_ENDPOINT_URL must be an http/)
})

test('a bucket without keys is opened with the credentials that the machine has', () => {
  expect(read({ BERTH_BLOBS: 's3://bucket', AWS_REGION: 'x' })).toMatchObject({ location: { keys: null } })
})
