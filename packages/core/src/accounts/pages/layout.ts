import { createHash } from 'node:crypto'
import type { FastifyReply } from 'fastify'
import { typefaceLink } from '../../http/reply/typeface.ts'
import { Html, html } from './html.ts'
import { style } from './style.ts'

/** The policy allows this style sheet by its digest, and no other. */
const styleSheet = new Html(style)
const preload = new Html(typefaceLink)
const styleHash = createHash('sha256').update(style).digest('base64')

const mark = html`<svg viewBox="0 0 32 32" aria-hidden="true"><rect width="32" height="32" rx="8"/><path d="M11 8v16M11 8h6a4 4 0 0 1 0 8h-6m0 0h7a4 4 0 0 1 0 8h-7"/></svg>`

const tick = html`<svg class="done" viewBox="0 0 24 24" fill="none" stroke="currentColor" stroke-width="3" stroke-linecap="round" stroke-linejoin="round" aria-hidden="true"><path d="M4 13l5 5L20 6"/></svg>
`

/** The mark as the icon of the browser's tab; as a `data:` URL it needs no request. */
const icon = `data:image/svg+xml,${encodeURIComponent(
  mark.text
    .replace('<svg ', '<svg xmlns="http://www.w3.org/2000/svg" ')
    .replace('<rect ', '<rect fill="#1c5bc4" ')
    .replace('<path ', '<path fill="none" stroke="#fff" stroke-width="3" stroke-linejoin="round" '),
)}`

/** A page of the account service, without its frame. */
export interface Page {
  readonly title: string
  readonly content: Html
  /** The page tells that something is done: it shows a tick. */
  readonly isDone?: boolean
}

/**
 * Headers of a page that runs no script, loads nothing but the typeface, appears in no frame and is not stored.
 *
 * The policy has no `form-action`: Chromium and Safari also apply it to redirects after a form, so it would block the
 * redirect back to a client.
 */
export const pageHeaders: Readonly<Record<string, string>> = {
  'content-type': 'text/html; charset=utf-8',
  'cache-control': 'no-store',
  'content-security-policy': `default-src 'none'; font-src 'self'; img-src data:; style-src 'sha256-${styleHash}'; frame-ancestors 'none'; base-uri 'none'`,
  'referrer-policy': 'no-referrer',
  'x-frame-options': 'DENY',
}

/** Sends a page with its headers. */
export function sendPage(reply: FastifyReply, status: number, page: Page): FastifyReply {
  return reply.code(status).headers(pageHeaders).send(renderPage(page))
}

/** Renders a page in its frame. */
export function renderPage({ title, content, isDone = false }: Page): string {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex">
${preload}
<link rel="icon" href="${icon}">
<title>${title} · Berth</title>
<style>${styleSheet}</style>
</head>
<body>
<header class="mark">${mark}<span>Berth</span></header>
<main>
${isDone ? tick : null}<h1>${title}</h1>
${content}
</main>
</body>
</html>
`.text
}

/** A page of one sentence or two. */
export const plainPage = (title: string, text: string): Page => ({ title, content: html`<p>${text}</p>` })

/** A page that tells that something is done, in one sentence or two. */
export const donePage = (title: string, text: string): Page => ({ ...plainPage(title, text), isDone: true })
