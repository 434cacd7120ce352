import { createContext, Script } from 'node:vm'
import { outputLimits as bounds } from '@berth/contract'
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
 * Time for one judgement. A schema is refused if it could take exponential time; this bounds what is left, such as
 * patterns of a high power on a long text. It also interrupts regular expressions.
 */
const JUDGE_MS = 1_000

/**
 * Finds the JSON value in an agent's answer and holds it against a schema: the whole answer, the content of its last
 * fenced block, or its last line.
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
  try {
    // What the text says, and not what JavaScript made of it: 1e999 becomes null, -0 becomes 0.
    const issues = faultsOf(schema, JSON.parse(json))
    return issues.length === 0 ? { kind: 'accepted', json } : { kind: 'rejected', issues }
  } catch (error) {
    if (isTimeout(error)) return rejected('takes too long to be checked; give shorter texts and lists')
    throw error
  }
}

const rejected = (message: string): Verdict => ({ kind: 'rejected', issues: [{ path: [], message }] })

/** Returns the first faults of a value, or only one if finding the others takes too long. */
function faultsOf(schema: Readonly<Record<string, unknown>>, value: unknown): readonly OutputIssue[] {
  const first = timed(() => {
    const holds = compile(schema, false)
    return holds(value) ? [] : (holds.errors ?? [])
  })
  if (first.length === 0) return []
  const all = () => {
    const every = compile(schema, true)
    every(value)
    return every.errors ?? first
  }
  return unlessTimedOut(all, first)
    .slice(0, bounds.issues)
    .map(fault => issueOf(fault, value))
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
  }).compile(bareSchema(schema))

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
    const fence = /^\s*```\s*(\S*)\s*$/.exec(line)
    if (fence === null) open?.lines.push(line)
    else if (open === null) open = { isJson: /^(json)?$/i.test(fence[1] ?? ''), lines: [] }
    else {
      if (open.isJson) block = open.lines.join('\n')
      open = null
    }
  }
  return block
}

let work: () => unknown = () => undefined
const context = createContext({ work: () => work() })
const script = new Script('work()')

/** Runs a function that may take long, and stops it after `JUDGE_MS`. */
function timed<T>(given: () => T): T {
  work = given
  return script.runInContext(context, { timeout: JUDGE_MS })
}

function unlessTimedOut<T>(given: () => T, otherwise: T): T {
  try {
    return timed(given)
  } catch (error) {
    if (isTimeout(error)) return otherwise
    throw error
  }
}

const isTimeout = (error: unknown): boolean =>
  typeof error === 'object' && error !== null && Reflect.get(error, 'code') === 'ERR_SCRIPT_EXECUTION_TIMEOUT'
