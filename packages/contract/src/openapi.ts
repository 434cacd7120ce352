import type { TObject } from 'typebox'
import manifest from '../package.json' with { type: 'json' }
import { eventCatalog } from './event.ts'
import { type Dialect, keyHeaders } from './gateway/dialect.ts'
import type { OpenApiDocument, OpenApiOperation, OpenApiParameter } from './openapi-document.ts'
import { defaultResponse, errorResponses, sharedHeaders, successResponse } from './openapi-responses.ts'
import { SchemaComponents } from './openapi-schemas.ts'
import { SharedResponses } from './openapi-shared-responses.ts'
import type { GatewayOperation, GuardedOperation, Operation } from './operation.ts'
import { type OperationId, operationIds, operationOf } from './routes.ts'
import { Statement } from './statement.ts'

const title = 'Cloud Agent Sessions'

const description = `Run coding agents in sandboxes, for integrations and for people. A Session outlives its sandboxes, and its log of Events is ordered, gap-free and append-only.

Within \`/v1\`, properties, Event types and error codes may be added at any time, so clients must ignore those they do not know. Four sets of values are closed: the status of a Run, the state and the reason of a continuation, and the phase of a Session.`

/** Returns the OpenAPI 3.1 document of the route table. */
export function openApiDocument(
  options: {
    readonly release?: string
    readonly serverUrl?: string
    readonly accountUrl?: string
    /** Operations that the service was built without. */
    readonly without?: readonly OperationId[]
  } = {},
): OpenApiDocument {
  const schemas = new SchemaComponents()
  const paths: Record<string, Record<string, OpenApiOperation>> = {}
  const googlePaths: Record<string, Record<string, OpenApiOperation>> = {}
  const tags = new Set<string>()
  const shared = new SharedResponses()
  for (const id of operationIds) {
    const row = operationOf(id)
    // First-party clients alone call these; they change with the console.
    if (row.path.startsWith('/cloud/') || options.without?.includes(id) === true) continue
    tags.add(row.tag)
    const own = 'origin' in row ? { servers: [{ url: options.accountUrl ?? options.serverUrl ?? '/' }] } : {}
    const place = row.path.startsWith('/v1beta/') ? googlePaths : paths
    place[row.path] = {
      ...place[row.path],
      [row.method.toLowerCase()]: { ...describe(id, row, schemas, shared), ...own },
    }
  }
  const events = Object.entries(eventCatalog).map(
    ([type, kind]) =>
      [type, { family: kind.family, visibility: kind.visibility, data: schemas.place(kind.data) }] as const,
  )
  // No operation has it as it is: it is signed as text.
  schemas.place(Statement)
  return {
    openapi: '3.1.0',
    info: {
      title,
      version: manifest.version,
      description,
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
      ...(options.release === undefined ? {} : { 'x-svc-release': options.release }),
    },
    servers: [{ url: options.serverUrl ?? '/' }],
    tags: [...tags].map(name => ({ name })),
    paths,
    components: {
      schemas: schemas.all(),
      responses: shared.all(),
      headers: sharedHeaders,
      securitySchemes: {
        bearer: {
          type: 'http',
          scheme: 'bearer',
          description: 'An API key of an installation, or a short-lived token.',
        },
        ...keySchemes,
      },
    },
    'x-svc-dialects': {
      google: {
        description:
          "Where the AI gateway serves Google's clients, in their own format. Nothing else of this API lies below `/v1beta`.",
        paths: googlePaths,
      },
    },
    'x-svc-events': Object.fromEntries(events),
  }
}

function describe(id: string, row: Operation, schemas: SchemaComponents, shared: SharedResponses): OpenApiOperation {
  const parameters = [
    ...parametersOf(row.params, 'path', schemas),
    ...parametersOf(row.query, 'query', schemas),
    ...parametersOf(row.headers, 'header', schemas),
  ]
  const successes = Object.entries(row.responses).map(
    ([status, success]) => [status, successResponse(row, success, schemas)] as const,
  )
  const refusals = Object.entries(errorResponses(row, schemas)).map(
    ([status, response]) => [status, shared.place(status, response)] as const,
  )
  return {
    operationId: id,
    summary: row.summary,
    ...(row.description === undefined ? {} : { description: row.description }),
    tags: [row.tag],
    ...accessOf(row),
    ...(parameters.length === 0 ? {} : { parameters }),
    ...bodyOf(row, schemas),
    responses: {
      ...Object.fromEntries([...successes, ...refusals]),
      default: shared.place('Default', defaultResponse(row, schemas)),
    },
  }
}

function bodyOf(
  { body, form, octets, octetsType }: Operation,
  schemas: SchemaComponents,
): Pick<OpenApiOperation, 'requestBody'> {
  const [mediaType, schema] =
    octets !== undefined
      ? [octetsType ?? 'application/octet-stream', octets]
      : form !== undefined
        ? ['multipart/form-data', form]
        : ['application/json', body]
  return schema === undefined
    ? {}
    : { requestBody: { required: true, content: { [mediaType]: { schema: schemas.place(schema) } } } }
}

/** The headers in which clients of the gateway may send the same credential. */
const keySchemes = Object.fromEntries(
  Object.values(keyHeaders).flatMap(name => (name === null ? [] : [[name, { type: 'apiKey', in: 'header', name }]])),
)

function keySecurity({ dialect, shared }: GatewayOperation) {
  const dialects: readonly Dialect[] = shared === true ? ['anthropic', 'google'] : [dialect]
  return dialects.map(name => keyHeaders[name]).flatMap(name => (name === null ? [] : [{ [name]: [] }]))
}

function accessOf(row: Operation) {
  if (row.access === 'public' || row.access === 'assertion' || row.access === 'browser' || row.access === 'signed')
    return { security: [] }
  if (row.access === 'person')
    return { security: [{ bearer: [] }], 'x-svc-principal': 'person', 'x-svc-needs': row.needs }
  return {
    security: [{ bearer: [] }, ...(row.access === 'gateway' ? keySecurity(row) : [])],
    'x-svc-capability': row.capability,
    ...(row.access === 'gateway' ? {} : installationRules(row)),
  }
}

function installationRules(row: GuardedOperation) {
  return {
    ...(row.installationCapability === undefined
      ? {}
      : { 'x-svc-installation-capability': row.installationCapability }),
    ...(row.permission === undefined ? {} : { 'x-svc-needs': row.permission }),
    ...(row.principal === undefined ? {} : { 'x-svc-principal': row.principal }),
  }
}

const headerName = (name: string) => (name === 'last-event-id' ? 'Last-Event-ID' : name)

function parametersOf(schema: TObject | undefined, where: OpenApiParameter['in'], schemas: SchemaComponents) {
  if (schema === undefined) return []
  const required: readonly string[] = schema.required ?? []
  return Object.entries(schema.properties).map(([name, property]): OpenApiParameter => {
    const { description, ...node } = schemas.place(property)
    return {
      name: where === 'header' ? headerName(name) : name,
      in: where,
      required: required.includes(name) && !('default' in property),
      ...(typeof description === 'string' ? { description } : {}),
      schema: node,
    }
  })
}
