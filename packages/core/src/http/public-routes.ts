import { hash } from 'node:crypto'
import { type OpenApiDocument, operationOf, type PublicOperationId } from '@berth/contract'
import { refusal } from '@berth/platform/kit/refusal.ts'
import type { FastifyInstance } from 'fastify'
import { docsPage } from './docs/docs-page.ts'
import { accepts } from './request/accept.ts'
import { namesTag } from './request/entity-tag.ts'

interface Page {
  readonly mediaType: string
  readonly contentType: string
  readonly body: Buffer
  readonly etag: string
  readonly headers: Readonly<Record<string, string>>
}

type Pages = Readonly<Record<PublicOperationId, Page>>

/**
 * Registers the two public endpoints: the contract of this build, for programs (`getOpenApi`) and for people
 * (`getDocs`). Both pages are built and encoded once, at the first request, since `document` names the port on which
 * the service listens. They need no credential and are not metered; their first check is `Accept`.
 */
export function registerPublicRoutes(app: FastifyInstance, document: () => OpenApiDocument): void {
  let built: Pages | undefined
  const ids = ['getOpenApi', 'getDocs'] as const satisfies readonly PublicOperationId[]
  for (const id of ids) {
    const { method, path } = operationOf(id)
    app.route({
      method,
      url: path,
      config: { operationId: id },
      handler: async (request, reply) => {
        built ??= buildPages(document())
        const page = built[id]
        if (!accepts(request.headers.accept, page.mediaType)) throw refusal('representation_not_acceptable')
        reply.headers({ ...page.headers, 'cache-control': 'public, max-age=300', vary: 'Accept', etag: page.etag })
        if (namesTag(request.headers['if-none-match'], page.etag)) return reply.code(304).send()
        return reply.type(page.contentType).send(page.body)
      },
    })
  }
}

function buildPages(document: OpenApiDocument): Pages {
  const docs = docsPage(document)
  return {
    getOpenApi: {
      mediaType: 'application/json',
      contentType: 'application/json; charset=utf-8',
      ...encoded(JSON.stringify(document)),
      headers: {},
    },
    getDocs: {
      mediaType: 'text/html',
      contentType: 'text/html; charset=utf-8',
      ...encoded(docs.html),
      headers: { 'content-security-policy': docs.contentSecurityPolicy },
    },
  }
}

/** Encodes a page once, not for each answer. */
function encoded(text: string): Pick<Page, 'body' | 'etag'> {
  const body = Buffer.from(text)
  return { body, etag: `"${hash('sha256', body, 'base64url').slice(0, 22)}"` }
}
