import { createHash } from 'node:crypto'
import type { OpenApiDocument, OpenApiOperation } from '@berth/contract'
import { typefaceLink } from '../reply/typeface.ts'
import { commands } from './commands.ts'
import { docsScript } from './docs-script.ts'
import { docsStyle } from './docs-style.ts'
import { exampleView } from './examples.ts'
import { Html, html, inline, prose } from './html.ts'
import { operationView } from './operation-view.ts'
import { membersOf, rulesOf, schemaAnchor, typeOf } from './schema-view.ts'

/** A page and its content security policy. */
interface ReferencePage {
  readonly html: string
  readonly contentSecurityPolicy: string
}

interface Described {
  readonly method: string
  readonly path: string
  readonly operation: OpenApiOperation
}

interface Group {
  readonly slug: string
  readonly name: string
  readonly operations: readonly Described[]
}

const EVENTS = 'events'

/**
 * Renders the contract as pages: one with every operation by name, a search and the ways to authenticate, one for each
 * group of operations with the schemas that they use, and one for Event types. Each is whole: it loads nothing but
 * the typeface, and its policy allows nothing else but its own style and search.
 * @returns the pages by their last part of the path, which is empty for the first
 */
export function referencePages(document: OpenApiDocument): ReadonlyMap<string, ReferencePage> {
  const groups = groupsOf(document)
  const digest = (text: string) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`
  const contentSecurityPolicy = [
    "default-src 'none'",
    "font-src 'self'",
    `style-src ${digest(docsStyle)}`,
    `script-src ${digest(docsScript)}`,
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join('; ')
  const page = (title: string, current: string, main: Html) => ({
    html: `<!doctype html>\n${frame(document, groups, { title, current, main }).text}`,
    contentSecurityPolicy,
  })
  return new Map([
    ['', page('API reference', '', overview(document, groups))],
    ...groups.map(group => [group.slug, page(group.name, group.slug, groupView(document, group))] as const),
    [EVENTS, page('Event types', EVENTS, eventsView(document))],
  ])
}

function groupsOf(document: OpenApiDocument): readonly Group[] {
  const all = Object.entries({ ...document.paths, ...document['x-svc-dialects'].google.paths }).flatMap(
    ([path, methods]) => Object.entries(methods).map(([method, operation]) => ({ method, path, operation })),
  )
  return document.tags.map(({ name }) => ({
    slug: name
      .toLowerCase()
      .replaceAll(' ', '-')
      .replace(/^events$/, 'reading-events'),
    name,
    operations: all.filter(({ operation }) => operation.tags.includes(name)),
  }))
}

const mark = new Html(
  '<svg viewBox="0 0 32 32" aria-hidden="true"><rect width="32" height="32" rx="8"/><path d="M11 8v16M11 8h6a4 4 0 0 1 0 8h-6m0 0h7a4 4 0 0 1 0 8h-7"/></svg>',
)

function frame(
  { info }: OpenApiDocument,
  groups: readonly Group[],
  { title, current, main }: { readonly title: string; readonly current: string; readonly main: Html },
): Html {
  const link = (slug: string, name: string) =>
    html`<li><a href="/v1/docs${slug === '' ? '' : `/${slug}`}"${slug === current && html` aria-current="page"`}>${name}</a></li>`
  return html`<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
${new Html(typefaceLink)}
<title>${title} · Berth API</title>
<style>${new Html(docsStyle)}</style>
</head>
<body>
<header><a class="brand" href="/v1/docs">${mark}Berth <span>API ${info.version}</span></a><nav aria-label="Berth"><a href="/docs/">Documentation</a> <a href="/sessions">Console</a></nav></header>
<nav class="contents" aria-label="Contents"><details open><summary>Contents</summary><ul>${link('', 'Overview and search')}${groups.map(({ slug, name }) => link(slug, name))}${link(EVENTS, 'Event types')}</ul></details></nav>
<main>
<h1>${title}</h1>
${main}
</main>
<script>${new Html(docsScript)}</script>
</body>
</html>
`
}

const authentication = prose(
  'Send a credential as `Authorization: Bearer …` with every request.\n\n' +
    '**An API key** of an integration (`svc_cloud_live_…`) is for a backend of your own. Make one in the console under *Organization → Integrations*, or with `berth keys create`.\n\n' +
    '**A token of an app** is for a backend that several organizations install: it signs an assertion with its key, and gets tokens of at most ten minutes.\n\n' +
    "**A person's token** is what `berth login` gets. It reaches what the person may.\n\n" +
    'Each operation names the capability that the credential needs. What a credential may not see is 404.',
)

const overview = (document: OpenApiDocument, groups: readonly Group[]): Html => html`<p class="release">Version ${
  document.info.version
}${
  document.info['x-svc-release'] !== undefined && html`, release <code>${document.info['x-svc-release']}</code>`
}. For programs: <a href="/v1/openapi.json">openapi.json</a></p>
${prose(document.info.description)}
<h2 id="authentication">Authentication</h2>
${authentication}
<p>More: <a href="/docs/apps">tokens of apps, and API keys</a>, <a href="/docs/accounts#tokens">tokens of people</a>.</p>
<h2 id="errors">Errors</h2>
${prose('A refusal is JSON with `error`, a stable code, and fields of its own. `429`, `502`, `503` and `504` pass: repeat the request after `Retry-After`. Each operation lists the codes of its own; those below come from every one.')}
<p><a href="/docs/errors">Every code</a></p>
${everyError(document)}
<h2 id="operations">Operations</h2>
<p><label>Search <input type="search" id="search" placeholder="publish, webhook, DELETE, listTurns" autocomplete="off" spellcheck="false"></label> <span id="count" role="status"></span></p>
${groups.map(
  ({
    slug,
    name,
    operations,
  }) => html`<section class="list"><h3><a href="/v1/docs/${slug}">${name}</a></h3><ul>${operations.map(
    ({ method, path, operation: { operationId, summary } }) =>
      html`<li data-words="${`${operationId} ${summary} ${method} ${path} ${name} ${commands[operationId] ?? ''}`.toLowerCase()}"><a href="/v1/docs/${slug}#${operationId}"><span class="method ${method}">${method.toUpperCase()}</span> ${summary} <code>${path}</code></a></li>`,
  )}</ul></section>
`,
)}`

/** The codes that every operation with a credential can answer with; the others say their own alone. */
function sharedCodes(document: OpenApiDocument): ReadonlySet<string> {
  const guarded = Object.values(document.paths)
    .flatMap(methods => Object.values(methods))
    .filter(operation => operation['x-svc-capability'] !== undefined && operation.tags[0] !== 'AI gateway')
  const [first, ...rest] = guarded.map(operation => new Set(codesOf(document, operation)))
  return rest.reduce((shared, codes) => shared.intersection(codes), first ?? new Set<string>())
}

const codesOf = (document: OpenApiDocument, { responses }: OpenApiOperation): readonly string[] =>
  Object.values(responses).flatMap(response => {
    const name = '$ref' in response ? (response.$ref.split('/').at(-1) ?? '') : null
    const { content = {} } = name === null ? (response as never) : (document.components.responses[name] ?? {})
    return Object.values(content as object).flatMap(({ examples = {} }) => Object.keys(examples))
  })

const everyError = (document: OpenApiDocument): Html =>
  html`<p>${[...sharedCodes(document)].map(code => html`<code>${code}</code> `)}</p>`

function groupView(document: OpenApiDocument, { operations }: Group): Html {
  const shared = sharedCodes(document)
  const used = usedSchemas(
    document,
    operations.map(({ operation }) => operation),
  )
  return html`<ul class="here">${operations.map(
    ({ method, operation: { operationId, summary } }) =>
      html`<li><a href="#${operationId}"><span class="method ${method}">${method.toUpperCase()}</span> ${summary}</a></li>`,
  )}</ul>
${operations.map(described => operationView(document, described, { shared, example: exampleView(document, described) }))}
${schemasView(document, used)}`
}

/** Returns the names of the schemas that a value refers to, also by way of others. */
function usedSchemas(document: OpenApiDocument, value: unknown): ReadonlySet<string> {
  const found = new Set<string>()
  const visit = (text: string) => {
    for (const [, kind, name = ''] of text.matchAll(/"#\/components\/(schemas|responses)\/([^"]+)"/g)) {
      const key = `${kind}/${name}`
      if (found.has(key)) continue
      found.add(key)
      // An error's body is the same everywhere.
      if (kind === 'schemas') visit(JSON.stringify(document.components.schemas[name] ?? {}))
    }
  }
  visit(JSON.stringify(value))
  return new Set([...found].flatMap(key => (key.startsWith('schemas/') ? [key.slice('schemas/'.length)] : [])))
}

function schemasView(document: OpenApiDocument, used: ReadonlySet<string>): Html | null {
  if (used.size === 0) return null
  const shown = Object.entries(document.components.schemas).filter(([name]) => used.has(name))
  return html`<h2 id="schemas">Schemas</h2>
${shown.map(
  ([
    name,
    schema,
  ]) => html`<section class="schema" id="${schemaAnchor(name)}"><h3><a href="#${schemaAnchor(name)}">${name}</a></h3>${
    membersOf(schema) === null ? html`<p>${typeOf(schema)}</p>` : null
  }${rulesOf(schema)}${membersOf(schema)}</section>
`,
)}`
}

function eventsView(document: OpenApiDocument): Html {
  const events = Object.entries(document['x-svc-events'])
  const used = usedSchemas(document, events)
  return html`<p>What a Session's log tells, and what webhooks push. <a href="/docs/events">More about Events</a></p>
<table><thead><tr><th>Type</th><th>Webhook family</th><th>Data</th></tr></thead><tbody>${events.map(
    ([type, event]) =>
      html`<tr><td><code>${type}</code></td><td>${event.family ?? inline('not pushed')}</td><td>${typeOf(event.data)}</td></tr>`,
  )}</tbody></table>
${schemasView(document, used)}`
}
