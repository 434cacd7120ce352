import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import { until } from '@berth/testing/until.ts'
import { expect, it } from 'vitest'
import type { ShownArtifact } from '../ports/preview-sql.ts'
import { ArtifactPages } from './artifact-pages.ts'

it('the file of a view is judged once, however many open it at once, and read again to show it', async () => {
  let reads = 0
  let isAway = true
  let judgements = 0
  const released = Promise.withResolvers<void>()
  const pages = new ArtifactPages(() => ({
    get: async () => {
      reads += 1
      if (isAway) throw new Error('the store is away')
      await released.promise
      return Readable.from([Buffer.from('<p>content</p>')])
    },
  }))
  const artifact = { name: 'report.html', sha256: 'a'.repeat(64), size_bytes: 12 } as ShownArtifact
  const origin = 'http://localhost'
  await using stack = new AsyncDisposableStack()
  const server = createServer((request, response) => {
    judgements += 1
    const work =
      request.url === '/content'
        ? pages.content(artifact, { origin, label: 'l' }, request, response)
        : pages.frame(artifact, origin, '/content', response)
    work.catch(() => response.writeHead(503).end())
  }).listen(0, '127.0.0.1')
  stack.defer(() => void server.close())
  await once(server, 'listening')
  const ask = async (path: string) => {
    const answer = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`)
    return [answer.status, (await answer.text()).includes('<p>content')]
  }
  expect([await ask('/'), reads]).toEqual([[503, false], 1])
  isAway = false
  const opened = Array.from({ length: 3 }, () => ask('/'))
  await until('all of them', () => judgements === 4)
  released.resolve()
  await Promise.all(opened)
  expect(reads).toBe(2)
  expect([await ask('/content'), await ask('/'), reads]).toEqual([[200, true], [200, false], 3])
})
