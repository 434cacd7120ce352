import { mirrorOf, operationIds, operationOf } from '@berth/contract'
import { expect, test } from 'vitest'
import { routerPath, signedPaths } from '../../src/http/routing/route-match.ts'
import { startTestApp } from '../../src/http/testing/test-app.ts'

/** Lists every route of the framework, parsed from its own listing. */
function routesOf(listing: string): readonly string[] {
  const segments: string[] = []
  return listing.split('\n').flatMap(line => {
    const match = /^([│ ├└─]*)([^│ ├└─]\S*)(?: \((.+)\))?$/.exec(line)
    if (match === null) return []
    const [, indent = '', segment = '', methods] = match
    segments.length = indent.length / 4 - 1
    segments.push(segment)
    return (methods?.split(', ') ?? []).map(method => `${method} ${segments.join('')}`)
  })
}

test('the service serves the table, its mirrors, the two probes and nothing else', async () => {
  await using service = await startTestApp()
  const served = routesOf(service.app.printRoutes({ commonPrefix: false }))
  const table = operationIds.map(operationOf).flatMap(row => {
    const mirror = mirrorOf(row)
    return [...signedPaths(row.path), ...(mirror === null ? [] : [mirror])].map(
      path => `${row.method} ${routerPath(path)}`,
    )
  })
  expect([...served].sort()).toEqual([...table, 'GET /healthz', 'GET /readyz'].sort())
})

test('the service recognises a model in a path, whatever its id holds', async () => {
  await using service = await startTestApp()
  const bearer = { authorization: 'Bearer good' }
  for (const id of ['m', 'a/b/c', 'a%2Fb', 'a:b', 'a%3Ab', '%zz']) {
    const path = `/v1beta/models/${id}:generateContent`
    expect([id, (await fetch(service.origin + path, { headers: bearer })).status]).toEqual([id, 401])
    const own = `/v1beta/models/${id}`
    expect([id, (await fetch(service.origin + own, { headers: bearer })).status]).toEqual([id, 401])
  }
  expect((await fetch(`${service.origin}/v1beta/nope`, { headers: bearer })).status).toBe(404)
})

test('the probes need no bearer', async () => {
  await using service = await startTestApp()
  for (const path of ['/healthz', '/readyz']) {
    const response = await fetch(service.origin + path)
    expect([response.status, await response.json()]).toEqual([200, { status: 'ok' }])
  }
  const wrong = await fetch(`${service.origin}/healthz`, { method: 'POST' })
  expect([wrong.status, await wrong.json()]).toEqual([405, { error: 'method_not_allowed', allow: ['GET'] }])
})

test('readiness names the needs that do not answer', async () => {
  await using service = await startTestApp({
    needs: { blobs: () => Promise.resolve(), database: () => Promise.reject(new Error('away')) },
  })
  const response = await fetch(`${service.origin}/readyz`)
  expect([response.status, response.headers.get('retry-after'), await response.json()]).toEqual([
    503,
    '2',
    { error: 'service_unavailable', component: 'database' },
  ])
})
