import { createHash } from 'node:crypto'
import { ApiError } from '@berth/platform/kit/api-error.ts'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { pathOf } from '../request/request-path.ts'
import { typeface, typefaceLink } from './typeface.ts'

const style = `${typeface}
:root { color-scheme: light dark; --ink: #15181d; --soft: #5c6573; --paper: #ffffff; --accent: #1c5bc4; --on: #ffffff; }
@media (prefers-color-scheme: dark) { :root { --ink: #e9ebef; --soft: #929ba9; --paper: #0f1115; --accent: #8ab4ff; --on: #0b1526; } }
body { margin: 0; min-height: 100vh; display: grid; place-items: center; color: var(--ink); background: var(--paper); font: 16px/1.5 Inter, system-ui, sans-serif; }
main { max-width: 26rem; padding: 2rem; }
svg { width: 2.5rem; height: 2.5rem; } rect { fill: var(--accent); } path { fill: none; stroke: var(--on); stroke-width: 3; stroke-linejoin: round; }
h1 { margin: 1rem 0 .25rem; font-size: 1.35rem; } p { margin: .5rem 0; color: var(--soft); } a { color: var(--accent); }
`

const html = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
${typefaceLink}
<title>No such page · Berth</title>
<style>${style}</style>
</head>
<body>
<main>
<svg viewBox="0 0 32 32" aria-hidden="true"><rect width="32" height="32" rx="8"/><path d="M11 8v16M11 8h6a4 4 0 0 1 0 8h-6m0 0h7a4 4 0 0 1 0 8h-7"/></svg>
<h1>No such page</h1>
<p>Nothing is at this address. The link may be old, or mistyped.</p>
<p><a href="/">Open Berth</a> · <a href="/docs/">Documentation</a></p>
</main>
</body>
</html>
`

const headers = {
  'content-security-policy': `default-src 'none'; font-src 'self'; style-src 'sha256-${createHash('sha256').update(style).digest('base64')}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
  'referrer-policy': 'no-referrer',
}

/** Programs call these, also from a browser's address bar: their answers stay those of the contract. The reference is a page. */
const ofPrograms = /^\/(?:v1(?!\/docs\/)|v1beta|api|auth|cloud|hooks|oidc)(?:\/|$)/

/** Returns true if a person's browser asked for a page that is not there. */
export const isLostBrowser = (error: unknown, request: FastifyRequest): boolean =>
  error instanceof ApiError &&
  error.code === 'unknown_endpoint' &&
  request.method === 'GET' &&
  request.headers.accept?.includes('text/html') === true &&
  !ofPrograms.test(pathOf(request.url))

/** Answers with a page that says so, and leads back. */
export const sendLostPage = (reply: FastifyReply): FastifyReply =>
  reply.code(404).headers(headers).type('text/html; charset=utf-8').send(html)
