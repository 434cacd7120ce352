import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Ajv } from 'ajv'
import type { ManifestObject } from './helm.ts'

interface Schema {
  readonly properties?: Readonly<Record<string, Schema>>
  readonly [keyword: string]: unknown
}

/** The published schema of Sandboxes; `script/lib/agent-sandbox/README.md` names its source. */
const published = JSON.parse(
  readFileSync(join(import.meta.dirname, 'agent-sandbox/sandbox.v1beta1.json'), 'utf8'),
) as Schema

/** Whole numbers of the sizes that OpenAPI names; a time has the form of RFC 3339. */
const formats = {
  int32: { type: 'number' as const, validate: (value: number) => Math.abs(value) < 2 ** 31 },
  int64: { type: 'number' as const, validate: (value: number) => Number.isSafeInteger(value) },
  'date-time': /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/,
}

const validate = new Ajv({ strict: false, allErrors: true, formats }).compile(closed(published))

/** Returns the faults of a Sandbox; a field that the schema does not know is one, since an API server drops it. */
export function sandboxFaults(sandbox: ManifestObject): readonly string[] {
  if (validate(sandbox)) return []
  return (validate.errors ?? []).map(({ instancePath, keyword, params }) =>
    keyword === 'additionalProperties'
      ? `${instancePath}/${params['additionalProperty']} is not known`
      : `${instancePath} ${keyword} ${JSON.stringify(params)}`,
  )
}

/** Lets each object that names its fields have no others, as the API server does. */
function closed(schema: unknown): Schema {
  const all = schema as Schema
  const closing = all.properties !== undefined && all['x-kubernetes-preserve-unknown-fields'] !== true
  const entries = Object.entries(all).map(([keyword, value]) => [keyword, closedValue(keyword, value)])
  return { ...Object.fromEntries(entries), ...(closing && { additionalProperties: false }) }
}

function closedValue(keyword: string, value: unknown): unknown {
  if (keyword === 'items' || (keyword === 'additionalProperties' && typeof value === 'object')) return closed(value)
  if (keyword !== 'properties') return value
  return Object.fromEntries(Object.entries(value as object).map(([name, field]) => [name, closed(field)]))
}
