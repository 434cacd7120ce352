import type { OpenApiDocument, OpenApiOperation, OpenApiResponse, Reference } from '@berth/contract'
import { type Html, html, inline, prose } from './html.ts'
import { memberRow, typeOf } from './schema-view.ts'

/** Renders one operation with its parameters, body and responses. */
export function operationView(
  document: OpenApiDocument,
  method: string,
  path: string,
  operation: OpenApiOperation,
): Html {
  return html`<section class="operation" id="${operation.operationId}">
<h3><a href="#${operation.operationId}">${operation.summary}</a></h3>
<p class="line"><span class="method ${method}">${method.toUpperCase()}</span> <code>${path}</code></p>
${operation.description !== undefined && prose(operation.description)}
${accessView(operation)}
${parametersView(operation)}
${bodyView(operation)}
<h4>Answers</h4>
${Object.entries(operation.responses).map(([status, response]) => responseView(status, resolve(document, response)))}
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
  return html`<h4>Parameters</h4><table><thead><tr><th>Name</th><th>Type</th><th>Meaning</th></tr></thead><tbody>${rows}</tbody></table>`
}

function bodyView({ requestBody }: OpenApiOperation): Html | null {
  if (requestBody === undefined) return null
  return html`<h4>Body</h4>${Object.entries(requestBody.content).map(
    ([mediaType, { schema }]) => html`<p><code>${mediaType}</code> ${schema !== undefined && typeOf(schema)}</p>`,
  )}`
}

function responseView(status: string, response: OpenApiResponse): Html {
  const contents = Object.entries(response.content ?? {})
  const headers = Object.keys(response.headers ?? {})
  const refused = Number(status) >= 400
  return html`<details${!refused && html` open`}><summary><span class="status ${refused ? 'refused' : 'done'}">${status}</span> ${
    refused ? html`${codesOf(response).map(code => html`<code>${code}</code> `)}` : inline(response.description)
  }</summary>
${refused && prose(response.description)}
${contents.map(([mediaType, { schema }]) => html`<p><code>${mediaType}</code> ${schema !== undefined && typeOf(schema)}</p>`)}
${headers.length > 0 && html`<p class="rules">Headers: ${headers.join(', ')}</p>`}
</details>`
}

const codesOf = (response: OpenApiResponse) =>
  Object.values(response.content ?? {}).flatMap(content => Object.keys(content.examples ?? {}))

function resolve(document: OpenApiDocument, response: OpenApiResponse | Reference): OpenApiResponse {
  if (!('$ref' in response)) return response
  const name = response.$ref.split('/').at(-1) ?? ''
  return document.components.responses[name] ?? { description: '' }
}
