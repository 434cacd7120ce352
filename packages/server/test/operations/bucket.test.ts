import { randomUUID } from 'node:crypto'
import { startTestService, type TestService } from '@berth/testing/services/service.ts'
import { type S3Server, startS3Server } from '@berth/testing/storage/s3-server.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

let bucket: S3Server
let test: TestService
beforeAll(async () => {
  bucket = await startS3Server()
  const { bucket: name, region, endpoint = '', keys } = bucket.location()
  test = await startTestService({
    variables: {
      BERTH_BLOBS: `s3://${name}/berth`,
      AWS_REGION: region,
      AWS_ENDPOINT_URL: endpoint,
      AWS_ACCESS_KEY_ID: keys?.accessKeyId ?? '',
      AWS_SECRET_ACCESS_KEY: keys?.secretAccessKey ?? '',
    },
  })
})
afterAll(async () => {
  await test?.[Symbol.asyncDispose]()
  await bucket?.[Symbol.asyncDispose]()
})

const files = [{ name: 'note.txt', mediaType: 'text/plain', content: Buffer.from('kept elsewhere').toString('base64') }]

describe('a service whose blobs are in a bucket', () => {
  it('stores content there and works with it', async () => {
    const session = await test.api.createSession({ runtime: 'shell' })
    const { run } = await test.api.submitTurn(session.id, 'cat .berth/inputs/0/note.txt', { files })
    const events = await test.api.runEnded(session.id, run.id)
    expect(events.find(event => event.type === 'svc.activity.completed')?.data).toMatchObject({
      output: 'kept elsewhere',
    })
    const puts = bucket.requests.filter(({ method }) => method === 'PUT')
    expect(puts.length).toBeGreaterThan(0)
    expect(puts.every(({ path }) => path.startsWith('/berth-test/berth/'))).toBe(true)
  })

  it('answers that it is unavailable while the bucket is away', async () => {
    const session = await test.api.createSession({ runtime: 'shell' })
    const path = `/v1/sessions/${session.id}/turns/${randomUUID()}`
    const ready = async () => (await fetch(`${test.url}/readyz`)).status
    await bucket.stop()
    try {
      const answer = await test.api.put(path, { message: 'true', files })
      expect([answer.status, answer.text]).toEqual([503, '{"error":"service_unavailable"}'])
      expect(await ready()).toBe(503)
    } finally {
      await bucket.resume()
    }
    expect((await test.api.put(path, { message: 'true', files })).status).toBe(202)
    expect(await ready()).toBe(200)
  })
})
