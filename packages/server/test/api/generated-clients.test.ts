import { randomUUID } from 'node:crypto'
import type { OpenApiDocument, OpenApiOperation } from '@berth/contract'
import { callGenerated, generators, type MinimalCall } from '@berth/testing/api/generated-clients.ts'
import { minimalValue } from '@berth/testing/api/minimal-value.ts'
import { startValidatingProxy } from '@berth/testing/api/validating-proxy.ts'
import { type GatewayService, startGatewayService } from '@berth/testing/services/gateway-service.ts'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

let gateway: GatewayService
let document: OpenApiDocument

beforeAll(async () => {
  gateway = await startGatewayService()
  document = (await (await fetch(`${gateway.test.url}/v1/openapi.json`)).json()) as OpenApiDocument
})
afterAll(() => gateway[Symbol.asyncDispose]())

/**
 * Lists the calls of every operation that takes a body, in the order of the document: a Session is made before it is
 * used.
 */
function minimalCalls(): readonly MinimalCall[] {
  const ids = new Map<string, unknown>()
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).flatMap(([method, operation]) => {
      const content = Object.entries(operation.requestBody?.content ?? {})[0]
      if (content === undefined) return []
      const [mediaType, { schema = {} }] = content
      // The document requires nothing of bytes.
      if (mediaType === 'application/octet-stream' || mediaType === 'application/zip') return []
      const isForm = mediaType === 'multipart/form-data'
      const inQuery = operation.parameters?.filter(parameter => parameter.in === 'query') ?? []
      const params = Object.fromEntries(
        parametersOf(operation, 'path').map(({ name, schema }) => {
          if (!ids.has(name)) ids.set(name, schema['format'] === 'uuid' ? randomUUID() : minimalValue(document, schema))
          return [name, ids.get(name)]
        }),
      )
      const requiredIn = (where: 'query' | 'header') =>
        Object.fromEntries(
          parametersOf(operation, where).map(({ name, schema }) => [name, minimalValue(document, schema)]),
        )
      const query = requiredIn('query')
      return {
        operationId: operation.operationId,
        method: method.toUpperCase(),
        path,
        isForm,
        params,
        query,
        headers: requiredIn('header'),
        optionalQuery: inQuery.length > 0 && Object.keys(query).length === 0,
        body: minimalValue(document, schema) as Readonly<Record<string, unknown>>,
        key: operation.tags.includes('AI gateway') ? gateway.aiKey : gateway.test.api.key,
      }
    }),
  )
}

const parametersOf = ({ parameters = [] }: OpenApiOperation, where: 'path' | 'query' | 'header') =>
  parameters.filter(parameter => parameter.in === where && parameter.required)

describe('the required parts of the document', () => {
  test.each(Object.keys(generators) as (keyof typeof generators)[])(
    'are enough for a client that %s generates, for a validating proxy, and for the service',
    async generator => {
      const calls = minimalCalls()
      expect(calls.map(call => call.operationId)).toEqual(
        expect.arrayContaining(['createSession', 'createPublication', 'createMerge', 'createResponse']),
      )
      await using proxy = await startValidatingProxy(document, gateway.test.url)
      const statuses = await callGenerated(generator, document, calls, proxy.origin)
      expect(proxy.exchanges.filter(({ refusals }) => refusals.length > 0)).toEqual([])
      expect(Object.keys(statuses)).toEqual(calls.map(call => call.operationId))
      expect(Object.fromEntries(proxy.exchanges.map(({ operationId, status }) => [operationId, status]))).toEqual(
        statuses,
      )
      expect(statuses).toMatchObject({
        createSession: 201,
        updateSession: 200,
        submitTurn: 202,
        createPublication: 409,
      })
      // The service has no engine of the least digest, and says so.
      const refused = Object.entries(statuses).filter(([, status]) => status === 400 || status >= 500)
      expect(refused).toEqual([['activateRuntimeReleaseProbe', 400]])
    },
  )

  test('are refused by that proxy if they are missing', async () => {
    await using proxy = await startValidatingProxy(document, gateway.test.url)
    const { operationId, method, path, params, key } = minimalCalls().find(
      call => call.operationId === 'createPublication',
    ) as MinimalCall
    const url = path.replace(/\{(\w+)\}/g, (_, name: string) => String(params[name]))
    const response = await fetch(proxy.origin + url, {
      method,
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ title: 'A title', draft: 'no' }),
    })
    expect(response.status).toBe(422)
    expect(proxy.exchanges).toEqual([{ operationId, status: undefined, refusals: expect.any(Array) }])
    expect(proxy.exchanges[0]?.refusals.join()).toMatch(/revision.*draft must be boolean/)
  })
})
