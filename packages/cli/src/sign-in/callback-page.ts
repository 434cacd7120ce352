import { hash } from 'node:crypto'

const style = `
:root { color-scheme: light dark; --ink: #17202b; --soft: #566273; --line: #d9e0e8; --paper: #ffffff; --ground: #eef2f6; }
@media (prefers-color-scheme: dark) { :root { --ink: #e7edf4; --soft: #9dabba; --line: #2b3744; --paper: #161e27; --ground: #0d1319; } }
body { margin: 0; min-height: 100vh; display: grid; place-content: center; padding: 1rem; box-sizing: border-box; color: var(--ink); background: var(--ground);
  font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; }
main { max-width: 25.5rem; padding: 2rem; border: 1px solid var(--line); border-radius: 16px; background: var(--paper); }
h1 { margin: 0; font-size: 1.4rem; line-height: 1.25; text-wrap: balance; }
p { margin: .5rem 0 0; color: var(--soft); text-wrap: pretty; }
`

const pages = {
  approved: ['Go back to your terminal', 'Berth goes on there. You can close this page.'],
  declined: ['Not signed in', 'Your terminal says why, and what you can do. You can close this page.'],
  foreign: [
    'This page is not of your sign-in',
    'The terminal did not ask for it, or asked earlier. Run berth login again, and open the address that it shows.',
  ],
  unknown: ['Nothing is here', 'Open the address that your terminal shows.'],
} as const

/** Headers of every page of the listener. */
export const callbackHeaders = {
  'content-type': 'text/html; charset=utf-8',
  'cache-control': 'no-store',
  'content-security-policy': `default-src 'none'; style-src 'sha256-${hash('sha256', style, 'base64')}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
} as const

/** Returns the page on which a browser lands. It shows nothing that the request carried. */
export function callbackPage(kind: keyof typeof pages): string {
  const [title, text] = pages[kind]
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title} · Berth</title><style>${style}</style></head>
<body><main><h1>${title}</h1><p>${text}</p></main></body></html>
`
}
