import { describe, expect, test } from 'vitest'
import { openApiDocument } from './openapi.ts'
import type { OpenApiOperation, OpenApiResponse, Reference } from './openapi-document.ts'
import type { SchemaNode } from './openapi-schemas.ts'

const document = openApiDocument()
const operations = [document.paths, document['x-svc-dialects'].google.paths]
  .flatMap(paths => Object.values(paths))
  .flatMap(path => Object.values(path) as OpenApiOperation[])

/** Returns the places below a schema at which an object may get no further member. */
function closedPlaces(node: unknown, place: string, seen = new Set<string>()): readonly string[] {
  if (typeof node !== 'object' || node === null) return []
  const { $ref, additionalProperties, unevaluatedProperties, ...members } = node as SchemaNode
  if (typeof $ref === 'string') {
    const title = $ref.replace('#/components/schemas/', '')
    if (seen.has(title)) return []
    seen.add(title)
    return closedPlaces(document.components.schemas[title], title, seen)
  }
  const own = [additionalProperties, unevaluatedProperties].includes(false) ? [place] : []
  const inner = { ...members, ...(typeof additionalProperties === 'object' && { additionalProperties }) }
  return [...own, ...Object.entries(inner).flatMap(([key, value]) => closedPlaces(value, `${place}.${key}`, seen))]
}

const wholeOf = (response: OpenApiResponse | Reference): OpenApiResponse =>
  '$ref' in response
    ? (document.components.responses[response.$ref.replace('#/components/responses/', '')] as OpenApiResponse)
    : response

describe('the document', () => {
  test('lets every object of every response get further members', () => {
    const places = operations.flatMap(({ operationId, responses }) =>
      Object.values(responses).flatMap(response =>
        Object.values(wholeOf(response).content ?? {}).flatMap(({ schema }) => closedPlaces(schema, operationId)),
      ),
    )
    expect([...new Set(places)]).toEqual([])
  })

  test('lets the data of every Event get further members', () => {
    const places = Object.entries(document['x-svc-events']).flatMap(([type, { data }]) => closedPlaces(data, type))
    expect([...new Set(places)]).toEqual([])
  })

  test('refuses further members of every body in JSON that the service refuses', () => {
    const open = operations.flatMap(({ operationId, requestBody }) => {
      const schema = requestBody?.content['application/json']?.schema
      return schema === undefined || closedPlaces(schema, operationId).length > 0 ? [] : [operationId]
    })
    // Bodies of model APIs, and what other systems post to a hook.
    expect(open.filter(id => !/^(?:create|count|generate|stream|embed)|Hook/.test(id))).toEqual([])
  })

  test('requires If-Match wherever a write always replaces a revision', () => {
    const required = operations.flatMap(({ operationId, parameters = [] }) =>
      parameters.filter(({ name }) => name === 'if-match').map(({ required: is }) => [operationId, is]),
    )
    expect(Object.fromEntries(required)).toEqual({
      putEnvironment: false,
      archiveEnvironment: true,
      unarchiveEnvironment: true,
      restoreEnvironmentRevision: true,
      putEnvironmentSecret: true,
      deleteEnvironmentSecret: true,
    })
  })

  test('says where a refusal has the form of another protocol', () => {
    const { responses } = operations.find(({ operationId }) => operationId === 'callTools') as OpenApiOperation
    const forms = Object.entries(responses).flatMap(([status, response]) => {
      const { schema } = wholeOf(response).content?.['application/json'] ?? {}
      return JSON.stringify({ schema }).includes('JsonRpcError') ? [[status, schema?.['anyOf'] ?? schema]] : []
    })
    const [own, other] = ['Error', 'JsonRpcError'].map(name => ({ $ref: `#/components/schemas/${name}` }))
    expect(forms).toEqual([
      ['400', [own, other]],
      ['404', [own, other]],
    ])
  })
})
