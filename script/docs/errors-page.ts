import { type ErrorCode, type ErrorKind, errors } from '../../packages/contract/src/error.ts'
import { commonCodes, errorCodesOf } from '../../packages/contract/src/operation-errors.ts'
import { operationIds, operationOf } from '../../packages/contract/src/routes.ts'

const introduction = `# Errors of the API

<!-- Made by \`node script/docs.ts\`; do not edit. -->

For developers of clients: every error code of the API, with its status, its cause and what to do. A refusal is JSON with the code in
\`error\`; [concepts](concepts.md#errors-and-retries) says which members come with it, and which refusal comes first.
[Troubleshooting](troubleshooting.md) begins with symptoms instead.

Branch on the code, not on the status alone. The set is open: treat a code that you do not know by its status. The paths of the
gateway answer with the same codes in the error body of the provider whose format they speak ([models](gateway.md)).

"Any" operation may answer a code that has to do with HTTP, rates or the service itself. For others the last column names the
operations, or counts them if there are more than three; the document at \`/v1/openapi.json\` lists the codes of each operation.
`

/** For each status, its sense and the next step of a client. The type lets no status of a code be forgotten. */
const statuses: Readonly<Record<(typeof errors)[ErrorCode]['status'], string>> = {
  400: 'The request is wrong. Mend it; the same request is refused again.',
  401: 'The credential or the signature is missing or no longer good. Get a new one, and try once more.',
  402: 'Start another Run, which has a budget of its own. An operator raises the budget of Runs, or gives the model a price ([costs](gateway.md#see-and-bound-costs)).',
  403: 'The caller may not do this. Another credential, or a person with more rights, is needed.',
  404: 'There is no such resource, or the caller may not see it. The answer is the same for both.',
  405: 'Use a method that `allow` lists.',
  406: 'Ask for a media type that the operation has.',
  408: 'Send the request again, over a faster connection.',
  409: 'The request contradicts the state of a resource. Read the resource before you send anything else.',
  413: 'Send less.',
  414: 'Shorten the path or the query.',
  415: 'Send another media type.',
  416: 'Ask for a range within the content.',
  422: 'The request is well formed, and its content cannot be used.',
  428: 'Read the resource, and name its revision in the write.',
  429: 'Wait as long as `Retry-After` says, then send the same request.',
  431: 'Send fewer or shorter headers.',
  500: 'Send the very same request again: a request with an id of yours takes effect once. Then look into the log of the service.',
  502: 'A model provider failed. Try again later; an operator finds the cause in the log of the service.',
  503: 'Wait as long as `Retry-After` says if it is there, then send the same request.',
  504: 'Send the request again.',
}

/** Returns the page of every error code, made from the contract. */
export function renderErrors(): string {
  const byStatus = Map.groupBy(Object.keys(errors) as ErrorCode[], code => errors[code].status)
  const sections = [...byStatus]
    .sort(([one], [other]) => one - other)
    .map(([status, codes]) => `\n## ${status}\n\n${statuses[status]}\n\n${table(codes)}`)
  return `${introduction}${sections.join('')}`
}

function table(codes: readonly ErrorCode[]): string {
  const rows = codes.map(
    code => `| \`${code}\` | ${escaped(errors[code].cause)}${delayOf(errors[code])} | ${operationsOf(code)} |\n`,
  )
  return `| code | cause | operations |\n|---|---|---|\n${rows.join('')}`
}

function delayOf({ retryAfter, retryAfterSeconds }: ErrorKind): string {
  if (retryAfterSeconds !== undefined) return ` Try again after ${retryAfterSeconds} s.`
  return retryAfter === true ? ' `Retry-After` says when to try again.' : ''
}

function operationsOf(code: ErrorCode): string {
  if (commonCodes.includes(code) || code === 'unknown_endpoint') return 'any'
  const ids = operationIds.filter(id => errorCodesOf(operationOf(id)).includes(code))
  if (ids.length > 3) return `${ids.length} operations`
  return ids.map(id => `\`${id}\``).join(', ')
}

const escaped = (text: string): string => text.replaceAll('|', '\\|')
