import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  brotliCompressSync,
  brotliDecompressSync,
  gunzipSync,
  gzipSync,
  zstdCompressSync,
  zstdDecompressSync,
} from 'node:zlib'
import { startTestService, type TestService } from '@berth/testing/services/service.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const script = `export const words = "${'word '.repeat(400)}"\n`
const pages = [
  '/',
  '/sign-in?error=expired',
  '/signed-out',
  '/no-access',
  '/sessions',
  '/sessions/new',
  '/sessions/0b8a4c9e-3f1d-4a57-9c1e-2f6d7e8a9b0c?panel=changes',
  '/sessions/0b8a4c9e-3f1d-4a57-9c1e-2f6d7e8a9b0c/review',
  '/repositories',
  '/environments/x',
  '/usage',
  '/settings/profile',
  '/organization/apps/x',
  '/pulls/7/1',
]

let directory: string
let test: TestService
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'berth-page-'))
  await mkdir(join(directory, 'assets'))
  const write = (name: string, content: string | Buffer) => writeFile(join(directory, name), content)
  await write('index.html', '<!doctype html><html><head><title>Berth</title></head><body></body></html>')
  await write('robots.txt', 'User-agent: *\nDisallow: /\n')
  await write('assets/index-B3f9.js', script)
  await write('assets/index-B3f9.js.br', brotliCompressSync(script))
  await write('assets/index-B3f9.js.gz', gzipSync(script))
  await write('assets/index-B3f9.js.zst', zstdCompressSync(script))
  await write('assets/icon-77aa.svg', '<svg xmlns="http://www.w3.org/2000/svg"/>')
  await writeFile(join(directory, '..', 'berth-page-secret'), 'secret')
  test = await startTestService({ variables: { BERTH_ROLES: 'api' }, consoleDirectory: directory })
})
afterAll(async () => {
  await test[Symbol.asyncDispose]()
  await rm(directory, { recursive: true, force: true })
  await rm(join(directory, '..', 'berth-page-secret'), { force: true })
})

/** Sends exactly this path and these headers; `fetch` would tidy the one and add to the others. */
function get(path: string, headers: Record<string, string> = {}) {
  return new Promise<{ status: number; headers: Record<string, unknown>; body: Buffer }>((resolve, reject) => {
    const { hostname, port } = new URL(test.url)
    const sent = request({ hostname, port, path, headers }, response => {
      const chunks: Buffer[] = []
      response.on('data', chunk => chunks.push(chunk))
      response.on('end', () =>
        resolve({ status: response.statusCode ?? 0, headers: response.headers, body: Buffer.concat(chunks) }),
      )
    })
    sent.on('error', reject)
    sent.end()
  })
}

describe('the page', () => {
  it.each(pages)('is at %s, without a credential', async path => {
    const { status, headers, body } = await get(path)
    expect([status, headers['content-type'], headers['cache-control']]).toEqual([
      200,
      'text/html; charset=utf-8',
      'no-cache',
    ])
    const [, nonce] = /nonce="([^"]+)"/.exec(body.toString()) ?? []
    const policy = String(headers['content-security-policy'])
    expect(policy).toContain(`style-src 'self' 'nonce-${nonce}'`)
    for (const rule of [
      "default-src 'none'",
      "script-src 'self'",
      "connect-src 'self'",
      "base-uri 'none'",
      "form-action 'self'",
      "frame-ancestors 'none'",
      "require-trusted-types-for 'script'",
      'trusted-types default',
    ]) {
      expect(policy.split('; ')).toContain(rule)
    }
    expect(policy).not.toMatch(/unsafe-eval|script-src[^;]*unsafe|\*/)
    expect(headers).toMatchObject({
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
      'cross-origin-opener-policy': 'same-origin',
      'cross-origin-resource-policy': 'same-origin',
    })
    expect(headers['permissions-policy']).toMatch(/^microphone=\(self\), clipboard-write=\(self\), .*camera=\(\)/)
    expect(headers).not.toHaveProperty('strict-transport-security')
    expect(headers).not.toHaveProperty('set-cookie')
  })

  it('has a nonce of its own each time', async () => {
    const seen = await Promise.all([get('/'), get('/'), get('/')])
    expect(new Set(seen.map(({ headers }) => headers['content-security-policy'])).size).toBe(3)
  })

  it.each([
    ['br', 'br', brotliDecompressSync],
    ['gzip, deflate, br, zstd', 'br', brotliDecompressSync],
    ['zstd;q=1, gzip', 'zstd', zstdDecompressSync],
    ['gzip', 'gzip', gunzipSync],
    ['br;q=0, gzip;q=0.5', 'gzip', gunzipSync],
    ['*', 'br', brotliDecompressSync],
    ['identity', undefined, (bytes: Buffer) => bytes],
    ['', undefined, (bytes: Buffer) => bytes],
  ])('has assets as they were compressed, for a browser that accepts %j', async (accepted, coding, open) => {
    const { status, headers, body } = await get('/assets/index-B3f9.js', { 'accept-encoding': accepted })
    expect([status, headers['content-encoding'], headers['content-length']]).toEqual([200, coding, String(body.length)])
    expect(open(body).toString()).toBe(script)
    expect(headers).toMatchObject({
      'content-type': 'text/javascript; charset=utf-8',
      'cache-control': 'public, max-age=31536000, immutable',
      vary: 'Accept-Encoding',
      'x-content-type-options': 'nosniff',
    })
    expect(headers['content-security-policy']).toContain("script-src 'self'")
  })

  it('asks again for a file whose name holds no hash, and learns that it has not changed', async () => {
    const { headers } = await get('/robots.txt')
    expect(headers['cache-control']).toBe('no-cache')
    expect((await get('/robots.txt', { 'if-none-match': String(headers['etag']) })).status).toBe(304)
  })

  it.each([
    '/assets/nothing.js',
    '/assets/',
    '/assets/index-B3f9.js.br',
    '/assets/../index.html',
    '/assets/../../berth-page-secret',
    '/assets/..%2f..%2fberth-page-secret',
    '/assets/%2e%2e/%2e%2e/berth-page-secret',
    '/assets//etc/passwd',
    '/index.html',
    '/favicon.ico',
    '/sessionsx',
  ])('is nowhere else, and no file is but those of the build: %s', async path => {
    const { status, body } = await get(path)
    expect([status, JSON.parse(body.toString())]).toEqual([404, { error: 'unknown_endpoint' }])
  })
})

it('says so if it was not built', async () => {
  await using bare = await startTestService({
    variables: { BERTH_ROLES: 'api', BERTH_CONSOLE_URL: 'https://console.example' },
    consoleDirectory: join(directory, 'nothing'),
  })
  const answer = await fetch(`${bare.url}/sessions`)
  expect([answer.status, await answer.text()]).toEqual([503, expect.stringContaining('npm run build')])
  expect(answer.headers.get('content-security-policy')).toContain("default-src 'none'")
  expect(answer.headers.get('strict-transport-security')).toBe('max-age=31536000')
})

it('is where sessionUrl leads', async () => {
  const session = await test.api.createSession()
  const shown = await fetch(session.sessionUrl)
  expect([shown.status, shown.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8'])
})
