import { createServer as createHttp } from 'node:http'
import { connect } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { askOver, EdgeStage, secret } from '../testing/edge-clients.ts'
import { rulesOf, serveEgressProxy } from './proxy.ts'

const host = 'api.example.com'
const bearer = ['Authorization', `Bearer ${secret.placeholder}`]
let stage: EdgeStage
let outer: Awaited<ReturnType<typeof serveEgressProxy>>
/** Connections that were led elsewhere. */
let led: number
let own: number

beforeEach(async () => {
  stage = await EdgeStage.open()
  led = 0
  await stage.host(host, (incoming, response) => response.end(incoming.headers.authorization))
  own = await stage.listen(
    'own.example.com',
    createHttp((_, response) => response.end('own')),
  )
  await stage.serve([secret])
  const { path } = stage
  const proxy = async () => {
    led += 1
    return connect({ path, allowHalfOpen: true })
  }
  const reach = [`http://127.0.0.1:${own}`]
  const publicHosts = { ports: [80, 443], refused: [] }
  outer = await serveEgressProxy({
    ...{ dir: stage.dir, name: 'outer.sock', log: { warn: () => undefined } },
    ...rulesOf({ reach, publicHosts, proxy, isLent: true }),
  })
  stage.path = join(stage.dir, 'outer.sock')
})
afterEach(async () => {
  await outer[Symbol.asyncDispose]()
  await stage[Symbol.asyncDispose]()
})

it('leads public hosts to another proxy, which puts secrets in and refuses for itself', async () => {
  expect((await stage.ask(host, '/', { headers: bearer })).body).toBe(`Bearer ${secret.value}`)
  const { head, socket } = await stage.tunnel(`${host}:8443`)
  expect(head + (await text(socket))).toContain('secret_not_for_host')
  const plain = await askOver(connect(stage.path), `http://${host}/`, { headers: ['Host', host, ...bearer] })
  expect([plain.status, plain.body]).toEqual([403, expect.stringContaining('secret_not_for_host')])
  expect(led).toBe(3)
})

it("reaches the operator's origins by itself, and nothing once it is at rest", async () => {
  const answer = await askOver(connect(stage.path), `http://127.0.0.1:${own}/`, { headers: ['Host', 'own'] })
  expect([answer.body, led]).toEqual(['own', 0])
  outer.deny()
  expect((await stage.tunnel(`${host}:443`)).head).toMatch(/^HTTP\/1\.1 403 /)
  expect(led).toBe(0)
})
