import { outputLimits as bounds } from '@berth/contract'
import { LinearPattern } from '@berth/platform/kit/linear-pattern.ts'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { issueOf } from '../../http/request/validator.ts'
import { depthOf } from './depth.ts'
import { bareSchema, outputFormats } from './output-schema.ts'

/** A fault of a value: its place, outermost member first, and prose. */
export interface OutputIssue {
  readonly path: readonly (string | number)[]
  readonly message: string
}

/** The JSON value that an answer gives, as text, or why it is not the one that was asked for. */
export type Verdict =
  | { readonly kind: 'accepted'; readonly json: string }
  | { readonly kind: 'rejected'; readonly issues: readonly OutputIssue[] }

/**
 * Finds the JSON value in an agent's answer and holds it against a schema: the whole answer, the content of its last
 * fenced block, or its last line. It may take seconds: `OutputJudge` calls it on a thread of its own.
 */
export function judgeOutput(schema: Readonly<Record<string, unknown>>, answer: string): Verdict {
  const found = findJson(answer)
  if (found === undefined) {
    return rejected('is not there: end the answer with a ```json block that holds one JSON value')
  }
  const depth = depthOf(found.value, bounds.valueDepth)
  if (depth > bounds.valueDepth) return rejected(`is nested deeper than ${bounds.valueDepth} levels`)
  const json = JSON.stringify(found.value)
  if (Buffer.byteLength(json) > bounds.valueBytes) return rejected(`is longer than ${bounds.valueBytes} bytes of JSON`)
  if (/\\u(0000|d[89a-f][0-9a-f]{2})/.test(json)) return rejected('holds U+0000 or half of a surrogate pair')
  // JSON has no such numbers: 1e999 becomes null, -0 becomes 0. The value that is stored is the one that is judged.
  const issues = faultsOf(schema, JSON.parse(json))
  return issues.length === 0 ? { kind: 'accepted', json } : { kind: 'rejected', issues }
}

/** Returns the verdict on a whole value. */
export const rejected = (message: string): Verdict => ({ kind: 'rejected', issues: [{ path: [], message }] })

/** Returns the first faults of a value. Only one that has any is searched for all of them. */
function faultsOf(schema: Readonly<Record<string, unknown>>, value: unknown): readonly OutputIssue[] {
  if (compile(schema, false)(value)) return []
  const every = compile(schema, true)
  every(value)
  return (every.errors ?? []).slice(0, bounds.issues).map(fault => issueOf(fault, value))
}

const compile = (schema: Readonly<Record<string, unknown>>, allErrors: boolean) =>
  new Ajv2020({
    allErrors,
    strict: false,
    logger: false,
    // References may be many to one definition, and the code of each is made once.
    inlineRefs: false,
    validateSchema: false,
    unicodeRegExp: true,
    formats: outputFormats,
    code: { regExp: matcherOf },
  }).compile(bareSchema(schema))

/** Gives the validator a pattern that takes linear time. */
const matcherOf = Object.assign(
  (pattern: string) => {
    const matcher = new LinearPattern(pattern)
    // The validator keeps one matcher for each name.
    return { test: (text: string) => matcher.test(text), toString: () => pattern }
  },
  // Names the function in code that is written to a file, which this is not.
  { code: 'matcherOf' },
)

function findJson(answer: string): { readonly value: unknown } | undefined {
  const text = answer.trim()
  for (const candidate of [text, lastBlock(text), text.slice(text.lastIndexOf('\n') + 1)]) {
    if (candidate === null) continue
    try {
      return { value: JSON.parse(candidate) }
    } catch {
      // The next candidate may be it.
    }
  }
  return undefined
}

/** Returns the content of the last fenced block of JSON, or of no language, that is closed. */
function lastBlock(text: string): string | null {
  let block: string | null = null
  let open: { readonly isJson: boolean; readonly lines: string[] } | null = null
  for (const line of text.split('\n')) {
    const language = fenceOf(line)
    if (language === null) open?.lines.push(line)
    else if (open === null) open = { isJson: /^(json)?$/i.test(language), lines: [] }
    else {
      if (open.isJson) block = open.lines.join('\n')
      open = null
    }
  }
  return block
}

/** Returns the language that a fence names, which may be none; null for any other line. */
function fenceOf(line: string): string | null {
  const text = line.trim()
  if (!text.startsWith('```')) return null
  const language = text.slice(3).trimStart()
  return /\s/.test(language) ? null : language
}
