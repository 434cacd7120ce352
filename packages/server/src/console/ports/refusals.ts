import type { ServerResponse } from 'node:http'

/** Answers of a preview in place of the port. */
export interface Refusal {
  readonly status: number
  readonly title: string
  readonly advice: string
  readonly retryAfterSeconds?: number
}

export const refusals = {
  unknown: { status: 404, title: 'No such preview', advice: 'Open a preview from its Session in the console.' },
  spent: {
    status: 403,
    title: 'This link is used up',
    advice: 'A link opens a preview once, within a minute. Open the preview again from its Session in the console.',
  },
  closed: {
    status: 403,
    title: 'This preview is closed',
    advice: 'It ends with its sandbox, and with your sign-in. Open it again from its Session in the console.',
  },
  viewClosed: {
    status: 403,
    title: 'This view is closed',
    advice: 'It ends after an hour, and with your sign-in. Open the file again from its Session in the console.',
  },
  elsewhere: {
    status: 503,
    title: 'The sandbox is on another machine',
    advice: 'Previews are served by the machine that has the sandbox.',
  },
  atRest: {
    status: 503,
    title: 'The sandbox is paused',
    advice: 'Start a preview from its Session in the console, then reload this page.',
  },
  busy: {
    status: 503,
    title: 'Too many connections',
    advice: 'Close other pages of this preview, then reload this page.',
  },
  tooMany: (retryAfterSeconds: number): Refusal => ({
    status: 429,
    title: 'Too many wrong links',
    advice: 'Wait a moment, then open the preview again from its Session in the console.',
    retryAfterSeconds,
  }),
  failed: { status: 502, title: 'The preview broke off', advice: 'Reload this page.' },
  silentPort: (port: number): Refusal => ({
    status: 502,
    title: `Nothing listens on port ${port}`,
    advice: 'Start the program in the sandbox, then reload this page.',
  }),
} as const

/** Answers with a page of the service's own, which has no script and may be framed by nobody. */
export function sendRefusal(response: ServerResponse, { status, title, advice, retryAfterSeconds }: Refusal): void {
  const page = `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${title}</title>
<style>body{font:16px/1.5 system-ui,sans-serif;max-width:32rem;margin:20vh auto;padding:0 1.5rem;color-scheme:light dark}h1{font-size:1.25rem}</style></head>
<body><h1>${title}</h1><p>${advice}</p></body></html>
`
  response.writeHead(status, {
    'Content-Type': 'text/html; charset=utf-8',
    'Content-Length': String(Buffer.byteLength(page)),
    'Content-Security-Policy': "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
    'Cache-Control': 'no-store',
    'X-Content-Type-Options': 'nosniff',
    'Referrer-Policy': 'no-referrer',
    ...(retryAfterSeconds !== undefined && { 'Retry-After': String(retryAfterSeconds) }),
  })
  response.end(page)
}
