import { type OpenApiDocument, openApiDocument, operationIds, operationOf } from '@berth/contract'
import { releaseVersion } from '@berth/platform/kit/version.ts'
import { Validator } from '@seriousme/openapi-schema-validator'
import { describe, expect, test, vi } from 'vitest'
import { accepts } from './request/accept.ts'
import { startTestApp } from './testing/test-app.ts'

/** Operations of first-party clients are left out. */
const described = operationIds.filter(id => !operationOf(id).path.startsWith('/cloud/'))

describe('GET /v1/openapi.json', () => {
  test('is a valid OpenAPI 3.1 document of the route table', async () => {
    const urls = () => ({ baseUrl: 'http://127.0.0.1:4100', authUrl: 'https://auth.example.com' })
    await using service = await startTestApp({ release: 'abc', urls })
    const response = await fetch(`${service.origin}/v1/openapi.json`)
    expect(response.status).toBe(200)
    expect(response.headers.get('cache-control')).toBe('public, max-age=300')
    expect(response.headers.get('content-type')).toMatch(/^application\/json/)
    expect(response.headers.get('ratelimit')).toBeNull()
    const document = (await response.json()) as OpenApiDocument
    const { valid, errors } = await new Validator().validate(JSON.parse(JSON.stringify(document)))
    expect(errors ?? []).toEqual([])
    expect(valid).toBe(true)
    expect(document.openapi).toMatch(/^3\.1\./)
    expect(document.info).toMatchObject({ version: releaseVersion, 'x-svc-release': 'abc' })
    expect(document.servers).toEqual([{ url: 'http://127.0.0.1:4100' }])
    expect(document.paths['/auth/app-installation-token']?.post?.servers).toEqual([{ url: 'https://auth.example.com' }])
    const ofGoogle = document['x-svc-dialects'].google.paths
    const ids = [document.paths, ofGoogle].flatMap(paths =>
      Object.values(paths).flatMap(methods => Object.values(methods).map(operation => operation.operationId)),
    )
    expect(ids.sort()).toEqual([...described].sort())
    const outside = Object.keys(document.paths).filter(path => !/^\/(?:v1|api|auth|hooks|\.well-known)\//.test(path))
    expect(outside).toEqual([])
    expect(Object.keys(ofGoogle)).toEqual(
      expect.arrayContaining(['/v1beta/models', '/v1beta/models/{model}:generateContent']),
    )
  })

  test('is built once, is the same bytes each time, and has no body for whoever has it already', async () => {
    const urls = vi.fn(() => ({ baseUrl: 'http://127.0.0.1:4100', authUrl: 'https://auth.example.com' }))
    await using service = await startTestApp({ release: 'abc', urls })
    for (const path of ['/v1/openapi.json', '/v1/docs']) {
      const read = () => fetch(`${service.origin}${path}`, { headers: { accept: '*/*' } })
      const first = await read()
      const etag = first.headers.get('etag') ?? ''
      expect(etag).toMatch(/^"[\w-]{22}"$/)
      expect(await (await read()).text()).toBe(await first.text())
      const again = await fetch(`${service.origin}${path}`, { headers: { 'if-none-match': `"other", W/${etag}` } })
      expect([again.status, await again.text(), again.headers.get('etag')]).toEqual([304, '', etag])
    }
    expect(urls).toHaveBeenCalledTimes(1)
  })

  test('names no release if none is set', () => {
    expect(openApiDocument().info).not.toHaveProperty('x-svc-release')
  })

  test('uses enums for closed sets only, closes requests and leaves responses open', () => {
    const { schemas } = openApiDocument().components
    expect(schemas).toMatchObject({
      Run: { properties: { status: { enum: expect.any(Array) } } },
      Continuation: { properties: { state: { enum: expect.any(Array) }, reason: { enum: expect.any(Array) } } },
      Session: { properties: { phase: { enum: expect.any(Array) } }, additionalProperties: true },
      Event: { properties: { type: { type: 'string', examples: expect.any(Array) } } },
      Error: { properties: { error: { type: 'string', examples: expect.any(Array) } } },
      CreateSession: { additionalProperties: false },
    })
    expect(JSON.stringify(schemas.Event)).not.toContain('"enum"')
  })

  test('resolves every reference', () => {
    const document = openApiDocument()
    for (const [, section = '', name = ''] of JSON.stringify(document).matchAll(
      /"#\/components\/(\w+)\/(\w[\w-]*)"/g,
    )) {
      expect(document.components).toHaveProperty([section, name])
    }
  })
})

test('the document makes members with defaults optional and defines shared responses once', () => {
  const document = openApiDocument()
  const defaulted: string[] = []
  const visit = (node: unknown, at: string) => {
    if (typeof node !== 'object' || node === null) return
    const { required, properties } = node as { required?: unknown; properties?: Record<string, object> }
    for (const name of Array.isArray(required) ? required : []) {
      if (properties !== undefined && 'default' in (properties[name] ?? {})) defaulted.push(`${at}.${name}`)
    }
    for (const [name, value] of Object.entries(node)) visit(value, `${at}.${name}`)
  }
  visit(document, '')
  expect(defaulted).toEqual([])
  const { CreatePublication, CreateMerge } = document.components.schemas
  expect([CreatePublication?.['required'], CreateMerge?.['required']]).toEqual([['revision', 'title'], ['strategy']])
  const operations = Object.values(document.paths).flatMap(path => Object.values(path))
  for (const { operationId, responses } of operations) {
    expect(responses['default'], operationId).toMatchObject({
      $ref: expect.stringMatching(/^#\/components\/responses\//),
    })
  }
})

describe('GET /v1/docs', () => {
  /** Reads the first page, and every one that it links to. */
  async function readPages(origin: string): Promise<ReadonlyMap<string, string>> {
    const first = await (await fetch(`${origin}/v1/docs`)).text()
    const paths = new Set([...first.matchAll(/href="(\/v1\/docs\/[a-z-]+)"/g)].map(([, path = '']) => path))
    const others = await Promise.all(
      [...paths].map(async path => [path, await (await fetch(origin + path)).text()] as const),
    )
    return new Map([['/v1/docs', first], ...others])
  }

  test('is a page for each group, each of at most 150 KiB, that loads nothing but the typeface', async () => {
    await using service = await startTestApp({ release: '<script>' })
    const response = await fetch(`${service.origin}/v1/docs`)
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8'])
    expect(response.headers.get('content-security-policy')).toMatch(
      /^default-src 'none'; font-src 'self'; style-src 'sha256-[^']+'; script-src 'sha256-[^']+'; base-uri 'none';/,
    )
    const pages = await readPages(service.origin)
    expect(pages.size).toBeGreaterThan(10)
    for (const [path, page] of pages) {
      expect(Buffer.byteLength(page), path).toBeLessThanOrEqual(150 * 1024)
      const others = page.replaceAll(/<link[^>]* href="\/inter\.woff2"[^>]*>|url\("\/inter\.woff2"\)/g, '')
      expect(others, path).not.toMatch(/<script[^>]|<link|<img|src=|@import|url\(|javascript:/)
      const anchors = new Set([...page.matchAll(/ id="([^"]+)"/g)].map(match => match[1]))
      for (const [, target = ''] of page.matchAll(/href="#([^"]+)"/g)) expect(anchors, path).toContain(target)
      for (const [, other = '', target = ''] of page.matchAll(/href="(\/v1\/docs\/[a-z-]+)#([^"]+)"/g)) {
        expect(pages.get(other), `${path} ${target}`).toContain(` id="${target}"`)
      }
    }
    expect(pages.get('/v1/docs')).toContain('&lt;script&gt;')
    const text = [...pages.values()].join('')
    for (const id of described) expect(text).toContain(` id="${id}"`)
    for (const path of ['nothing', 'nothing/below', 'sessions/'])
      expect([path, (await fetch(`${service.origin}/v1/docs/${path}`)).status]).toEqual([path, 404])
  })

  test('shows how each operation is called: by curl, by the client, and by the command if there is one', async () => {
    await using service = await startTestApp()
    const pages = await readPages(service.origin)
    const section = (id: string) =>
      [...pages.values()].map(page => new RegExp(`id="${id}">[\\s\\S]*?</section>`).exec(page)?.[0]).find(Boolean) ?? ''
    for (const id of described) {
      expect(section(id), id).toContain(`client.call(&#39;${id}&#39;`)
      expect(section(id), id).toContain('curl')
    }
    const publish = section('createPublication')
    expect(publish).toContain('curl -X PUT &quot;$BERTH_URL/v1/sessions/$SESSION_ID/publications/$PUBLICATION_ID&quot;')
    expect(publish).toContain('-H &quot;Authorization: Bearer $BERTH_API_KEY&quot;')
    expect([...pages.values()].join('')).toContain('-H &quot;Authorization: Bearer $BERTH_TOKEN&quot;')
    expect(publish).toContain('{ sessionId, publicationId, body: { revision: ')
    expect(publish).toContain('berth publish &lt;session&gt;')
  })

  test('tells on its first page how to authenticate, and the errors of every operation once', async () => {
    await using service = await startTestApp()
    const pages = await readPages(service.origin)
    const first = pages.get('/v1/docs') ?? ''
    expect(first).toContain('Authorization: Bearer')
    expect(first).toContain('<code>cloud_rate_limit_exceeded</code>')
    expect(pages.get('/v1/docs/sessions')).not.toContain('<code>cloud_rate_limit_exceeded</code>')
    expect(pages.get('/v1/docs/sessions')).toContain('<code>cloud_session_not_found</code>')
  })
})

describe('Accept', () => {
  test.each([
    [undefined, true],
    ['', true],
    ['*/*', true],
    ['application/*', true],
    ['application/json', true],
    ['APPLICATION/JSON; charset=utf-8', true],
    ['text/html, application/json;q=0.1', true],
    ['text/html', false],
    ['application/json;q=0', false],
    ['application/json;q=0, */*', false],
    ['*/*;q=0', false],
    ['text/*;q=1, application/*;q=0.0', false],
    ['application/*;q=0, application/json', true],
    ['json', false],
    ['application/json-seq', false],
  ])('of %j accepts JSON: %s', (header, expected) => {
    expect(accepts(header, 'application/json')).toBe(expected)
  })

  test.each([
    ['/v1/openapi.json', 'text/html'],
    ['/v1/docs', 'application/json'],
  ])('gets 406 from %s if it is %s', async (path, accept) => {
    await using service = await startTestApp()
    const response = await fetch(service.origin + path, { headers: { accept } })
    expect([response.status, await response.json()]).toEqual([406, { error: 'representation_not_acceptable' }])
    expect(response.headers.get('cache-control')).toBe('no-store')
  })
})
