import { createHash } from 'node:crypto'
import type { FastifyReply } from 'fastify'
import { Html, html } from './html.ts'
import { style } from './style.ts'

/** The policy allows this style sheet by its digest, and no other. */
const styleSheet = new Html(style)
const styleHash = createHash('sha256').update(style).digest('base64')

/** A page of the account service, without its frame. */
export interface Page {
  readonly title: string
  readonly content: Html
}

/**
 * Sends a page that runs no script, loads nothing, appears in no frame and is not stored.
 *
 * The policy has no `form-action`: Chromium and Safari also apply it to redirects after a form, so it would block the
 * redirect back to a client.
 */
export function sendPage(reply: FastifyReply, status: number, page: Page): FastifyReply {
  return reply
    .code(status)
    .headers({
      'content-type': 'text/html; charset=utf-8',
      'cache-control': 'no-store',
      'content-security-policy': `default-src 'none'; style-src 'sha256-${styleHash}'; frame-ancestors 'none'; base-uri 'none'`,
      'referrer-policy': 'no-referrer',
      'x-frame-options': 'DENY',
    })
    .send(framed(page).text)
}

function framed({ title, content }: Page): Html {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>${title} · Berth</title>
<style>${styleSheet}</style>
</head>
<body>
<main>
<p class="mark">Berth</p>
<h1>${title}</h1>
${content}
</main>
</body>
</html>
`
}
