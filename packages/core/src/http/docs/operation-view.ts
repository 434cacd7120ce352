import type { OpenApiDocument, OpenApiOperation, OpenApiResponse, Reference } from '@berth/contract'
import { type Html, html, inline, prose } from './html.ts'
import { memberRow, typeOf } from './schema-view.ts'

/**
 * Renders one operation with its parameters, body, answers and examples.
 * @param around codes that every operation answers with, and the rendered examples
 */
export function operationView(
  document: OpenApiDocument,
  { method, path, operation }: { readonly method: string; readonly path: string; readonly operation: OpenApiOperation },
  around: { readonly shared: ReadonlySet<string>; readonly example: Html },
): Html {
  const responses = Object.entries(operation.responses).map(
    ([status, response]) => [status, resolve(document, response)] as const,
  )
  return html`<section class="operation" id="${operation.operationId}">
<h2><a href="#${operation.operationId}">${operation.summary}</a></h2>
<p class="line"><span class="method ${method}">${method.toUpperCase()}</span> <code>${path}</code></p>
${operation.description !== undefined && prose(operation.description)}
${accessView(operation)}
${around.example}
${parametersView(operation)}
${bodyView(operation)}
<h3>Answers</h3>
${responses.filter(([status]) => Number(status) < 400).map(([status, response]) => successView(status, response))}
${refusalsView(responses, around.shared)}
</section>
`
}

function accessView(operation: OpenApiOperation): Html {
  const capability = operation['x-svc-capability']
  if (capability === undefined) return html`<p class="access">Needs no credential.</p>`
  return html`<p class="access">Needs <code>${capability}</code>.${
    operation['x-svc-principal'] !== undefined && ' Installations only.'
  }</p>`
}

function parametersView({ parameters = [] }: OpenApiOperation): Html | null {
  if (parameters.length === 0) return null
  const rows = parameters.map(parameter =>
    memberRow(
      `${parameter.in} `,
      parameter.name,
      { ...parameter.schema, ...(parameter.description === undefined ? {} : { description: parameter.description }) },
      parameter.required,
    ),
  )
  return html`<h3>Parameters</h3><table><thead><tr><th>Name</th><th>Type</th><th>Meaning</th></tr></thead><tbody>${rows}</tbody></table>`
}

function bodyView({ requestBody }: OpenApiOperation): Html | null {
  if (requestBody === undefined) return null
  return html`<h3>Body</h3>${Object.entries(requestBody.content).map(
    ([mediaType, { schema }]) => html`<p><code>${mediaType}</code> ${schema !== undefined && typeOf(schema)}</p>`,
  )}`
}

function successView(status: string, response: OpenApiResponse): Html {
  const headers = Object.keys(response.headers ?? {})
  return html`<p><span class="status done">${status}</span> ${inline(response.description)}${Object.entries(
    response.content ?? {},
  ).map(([mediaType, { schema }]) => html` <code>${mediaType}</code> ${schema !== undefined && typeOf(schema)}`)}${
    headers.length > 0 && html` <span class="rules">Headers: ${headers.join(', ')}</span>`
  }</p>`
}

/** The codes of an operation's own; those of every operation stand once, on the first page. */
function refusalsView(
  responses: readonly (readonly [status: string, response: OpenApiResponse])[],
  shared: ReadonlySet<string>,
): Html | null {
  const rows = responses.flatMap(([status, { content = {} }]) =>
    Object.values(content).flatMap(({ examples = {} }) =>
      Object.entries(examples).flatMap(([code, { summary }]) =>
        shared.has(code)
          ? []
          : [
              html`<tr><td><span class="status refused">${status}</span></td><td><code>${code}</code></td><td>${inline(summary)}</td></tr>`,
            ],
      ),
    ),
  )
  if (rows.length === 0) return null
  return html`<table class="refusals"><thead><tr><th>Status</th><th>Code</th><th>Meaning</th></tr></thead><tbody>${rows}</tbody></table>`
}

function resolve(document: OpenApiDocument, response: OpenApiResponse | Reference): OpenApiResponse {
  if (!('$ref' in response)) return response
  const name = response.$ref.split('/').at(-1) ?? ''
  return document.components.responses[name] ?? { description: '' }
}
