import { createHash } from 'node:crypto'
import type { OpenApiDocument } from '@berth/contract'
import { docsStyle } from './docs-style.ts'
import { Html, html, inline, prose } from './html.ts'
import { operationView } from './operation-view.ts'
import { membersOf, rulesOf, schemaAnchor, typeOf } from './schema-view.ts'

/** A page and its content security policy. */
export interface DocsPage {
  readonly html: string
  readonly contentSecurityPolicy: string
}

/**
 * Renders the contract as one page for `getDocs`. It loads no script, font or other resource, so it works offline, and
 * its policy allows nothing but its own style.
 */
export function docsPage(document: OpenApiDocument): DocsPage {
  const digest = createHash('sha256').update(docsStyle).digest('base64')
  return {
    html: `<!doctype html>\n${page(document).text}`,
    contentSecurityPolicy: `default-src 'none'; style-src 'sha256-${digest}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
  }
}

const page = (document: OpenApiDocument) => html`<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${document.info.title} ${document.info.version}</title>
<style>${new Html(docsStyle)}</style>
</head>
<body>
${contents(document)}
<main>
<h1>${document.info.title}</h1>
<p class="release">Version ${document.info.version}${
  document.info['x-svc-release'] !== undefined && html`, release <code>${document.info['x-svc-release']}</code>`
}. For programs: <a href="/v1/openapi.json">openapi.json</a></p>
${prose(document.info.description)}
${document.tags.map(tag => html`<h2>${tag.name}</h2>${operationsOf(document, tag.name).map(({ view }) => view)}`)}
<h2 id="events">Event types</h2>
${eventsView(document)}
<h2 id="schemas">Schemas</h2>
${Object.entries(document.components.schemas).map(
  ([
    name,
    schema,
  ]) => html`<section class="schema" id="${schemaAnchor(name)}"><h3><a href="#${schemaAnchor(name)}">${name}</a></h3>${
    membersOf(schema) === null ? html`<p>${typeOf(schema)}</p>` : null
  }${rulesOf(schema)}${membersOf(schema)}</section>
`,
)}
</main>
</body>
</html>
`

const contents = (
  document: OpenApiDocument,
) => html`<nav aria-label="Contents"><p class="name">${document.info.title}</p>
${document.tags.map(
  tag => html`<p>${tag.name}</p><ul>${operationsOf(document, tag.name).map(
    ({ id, method, summary }) =>
      html`<li><a href="#${id}"><span class="method ${method}">${method.toUpperCase()}</span> ${summary}</a></li>`,
  )}</ul>
`,
)}<p>Reference</p><ul><li><a href="#events">Event types</a></li><li><a href="#schemas">Schemas</a></li></ul></nav>`

function operationsOf(document: OpenApiDocument, tag: string) {
  return Object.entries({ ...document.paths, ...document['x-svc-dialects'].google.paths }).flatMap(([path, methods]) =>
    Object.entries(methods)
      .filter(([, operation]) => operation.tags.includes(tag))
      .map(([method, operation]) => ({
        id: operation.operationId,
        method,
        summary: operation.summary,
        view: operationView(document, method, path, operation),
      })),
  )
}

const eventsView = (document: OpenApiDocument) =>
  html`<table><thead><tr><th>Type</th><th>Webhook family</th><th>Data</th></tr></thead><tbody>${Object.entries(
    document['x-svc-events'],
  ).map(
    ([type, event]) =>
      html`<tr><td><code>${type}</code></td><td>${event.family ?? inline('not pushed')}</td><td>${typeOf(event.data)}</td></tr>`,
  )}</tbody></table>`
