import { hash } from 'node:crypto'
import { type OpenApiDocument, operationOf, type PublicOperationId, type StatementKeySet } from '@berth/contract'
import { refusal } from '@berth/platform/kit/refusal.ts'
import type { FastifyInstance } from 'fastify'
import { referencePages } from './docs/reference-pages.ts'
import { accepts } from './request/accept.ts'
import { namesTag } from './request/entity-tag.ts'

interface Page {
  readonly contentType: string
  readonly body: Buffer
  readonly etag: string
  readonly headers: Readonly<Record<string, string>>
}

/** The pages of both kinds, by what follows the path of their operation. */
interface Pages {
  readonly contract: Page
  readonly reference: ReadonlyMap<string, Page>
}

/**
 * Registers the public endpoints: the contract of this build, for programs (`getOpenApi`) and for people (`getDocs`,
 * `getDocsGroup`), and the keys of statements (`getStatementKeys`). All pages of the contract are built and encoded once, at the first request, since `document` names the port on which
 * the service listens. They need no credential and are not metered; their first check is `Accept`.
 */
export function registerPublicRoutes(
  app: FastifyInstance,
  document: () => OpenApiDocument,
  statementKeys: () => Promise<StatementKeySet>,
): void {
  let built: Pages | undefined
  const pages = () => {
    built ??= buildPages(document())
    return built
  }
  const serve = (
    operationId: PublicOperationId,
    mediaType: string,
    pageOf: (group: string) => Promise<Page | undefined> | Page | undefined,
  ) => {
    const { method, path } = operationOf(operationId)
    app.route<{ Params: { group?: string } }>({
      method,
      url: path.replace('{group}', ':group'),
      config: { operationId },
      handler: async ({ headers, params }, reply) => {
        if (!accepts(headers.accept, mediaType)) throw refusal('representation_not_acceptable')
        const page = await pageOf(params.group ?? '')
        if (page === undefined) throw refusal('unknown_endpoint')
        reply.headers({ ...page.headers, 'cache-control': 'public, max-age=300', vary: 'Accept', etag: page.etag })
        if (namesTag(headers['if-none-match'], page.etag)) return reply.code(304).send()
        return reply.type(page.contentType).send(page.body)
      },
    })
  }
  serve('getOpenApi', 'application/json', () => pages().contract)
  serve('getDocs', 'text/html', () => pages().reference.get(''))
  serve('getDocsGroup', 'text/html', group => pages().reference.get(group))
  serve('getStatementKeys', 'application/json', async () => ({
    contentType: 'application/json; charset=utf-8',
    ...encoded(JSON.stringify(await statementKeys())),
    headers: {},
  }))
}

const buildPages = (document: OpenApiDocument): Pages => ({
  contract: {
    contentType: 'application/json; charset=utf-8',
    ...encoded(JSON.stringify(document)),
    headers: {},
  },
  reference: new Map(
    [...referencePages(document)].map(([slug, { html, contentSecurityPolicy }]) => [
      slug,
      {
        contentType: 'text/html; charset=utf-8',
        ...encoded(html),
        headers: { 'content-security-policy': contentSecurityPolicy },
      },
    ]),
  ),
})

/** Encodes a page once, not for each answer. */
function encoded(text: string): Pick<Page, 'body' | 'etag'> {
  const body = Buffer.from(text)
  return { body, etag: `"${hash('sha256', body, 'base64url').slice(0, 22)}"` }
}
