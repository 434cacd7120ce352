import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import type { OpenApiDocument } from '@berth/contract'
import addFormats from 'ajv-formats'
import { type Document, OpenAPIBackend } from 'openapi-backend'

/** One request that passed through the proxy. */
export interface Exchange {
  readonly operationId: string
  /** Status of the service's answer; undefined if the proxy refused the request. */
  readonly status: number | undefined
  /** Reasons for which the proxy refused the request or the response; empty if it passed both. */
  readonly refusals: readonly string[]
}

/**
 * A proxy that validates requests and responses against a document, with a validator that shares no code with the
 * service. It answers 422 in place of anything that breaks the document.
 */
export interface ValidatingProxy extends AsyncDisposable {
  readonly origin: string
  readonly exchanges: readonly Exchange[]
}

/**
 * Starts the proxy.
 * @param target origin of the service that published the document
 */
export async function startValidatingProxy(document: OpenApiDocument, target: string): Promise<ValidatingProxy> {
  const backend = new OpenAPIBackend({
    // The validator resolves references in place.
    definition: structuredClone(document) as unknown as Document,
    // Its own check of documents knows only OpenAPI 3.0.
    quick: true,
    ajvOpts: { allErrors: true },
    customizeAjv: ajv => addFormats.default(ajv),
  })
  await backend.init()
  const { validator, router } = backend
  const exchanges: Exchange[] = []
  const server = createServer(async (request, response) => {
    const bytes = new Uint8Array(await buffer(request))
    const { method = '', url: path = '' } = request
    const mediaType = request.headers['content-type'] ?? ''
    const headers = Object.fromEntries(
      Object.entries(request.headers).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
    )
    const described = { method, path, headers, body: await readBody(mediaType, bytes) }
    const operation = router.matchOperation(described)
    const operationId = operation?.operationId ?? `${method} ${path}`
    const refuse = (status: number | undefined, refusals: readonly string[]) => {
      exchanges.push({ operationId, status, refusals })
      response.writeHead(422, { 'content-type': 'application/json' }).end(JSON.stringify({ refusals }))
    }
    if (operation === undefined) return refuse(undefined, ['the document has no such operation'])
    const faults = describe(validator.validateRequest(described, operation).errors)
    if (faults.length > 0) return refuse(undefined, faults)
    const answer = await fetch(target + path, {
      method,
      headers: Object.entries(headers).flatMap(([name, value]): [string, string][] =>
        hopByHop.has(name) || typeof value !== 'string' ? [] : [[name, value]],
      ),
      body: bytes,
    })
    const text = await answer.text()
    const promised = Object.entries(operation.responses ?? {}).find(([status]) => Number(status) === answer.status)?.[1]
    // Only an answer that the document gives no content may be without one.
    const isBare = text === '' && promised !== undefined && !('content' in promised)
    const answered = isBare
      ? []
      : describe(validator.validateResponse(text === '' ? null : JSON.parse(text), operation, answer.status).errors)
    if (answered.length > 0) return refuse(answer.status, answered)
    exchanges.push({ operationId, status: answer.status, refusals: [] })
    response.writeHead(answer.status, { 'content-type': answer.headers.get('content-type') ?? '' }).end(text)
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    origin: `http://127.0.0.1:${port}`,
    exchanges,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise(resolve => server.close(resolve))
    },
  }
}

/** Parses the body for the validator. Members of a form are text; one that reads as a number becomes one. */
async function readBody(mediaType: string, bytes: Uint8Array<ArrayBuffer>): Promise<object> {
  const body = new Response(bytes, { headers: { 'content-type': mediaType } })
  if (mediaType.startsWith('application/json')) return (await body.json()) as object
  const members = [...(await body.formData())].map(async ([name, value]) => {
    const text = typeof value === 'string' ? value : await value.text()
    return [name, typeof value === 'string' && /^\d+$/.test(text) ? Number(text) : text]
  })
  return Object.fromEntries(await Promise.all(members)) as object
}

const hopByHop: ReadonlySet<string> = new Set([
  'connection',
  'content-length',
  'host',
  'keep-alive',
  'transfer-encoding',
])

const describe = (errors: readonly { instancePath: string; message?: string }[] | null | undefined) =>
  (errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message ?? 'is refused'}`)
