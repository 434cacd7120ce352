import type { Statement } from '../generated/types.ts'
import { isRecord, type Signed } from './read-signed.ts'

const payloadType = 'application/vnd.in-toto+json'
const statementType = 'https://in-toto.io/Statement/v1'
const predicateType = 'https://berth.dev/attestations/agent-change/v1'
const oid = /^[0-9a-f]{40}$/

interface Content {
  readonly statement: Statement
  readonly subject: { readonly commit: string; readonly tree: string }
}

interface Fault {
  readonly reason: 'type_unknown' | 'content_unusable'
  readonly detail: string
}

/** Reads the payload of a signed file whose signature holds. */
export function readStatement({ payloadType: type, payload }: Signed): Content | Fault {
  const value = type === payloadType ? parse(payload) : undefined
  if (!isRecord(value) || value['_type'] !== statementType || value['predicateType'] !== predicateType) {
    return { reason: 'type_unknown', detail: `it is signed, but is no statement of the type ${predicateType}` }
  }
  const { subject, predicate } = value
  const named: readonly unknown[] = Array.isArray(subject) ? subject : []
  const commits = named.flatMap(each => digestOf(each, 'gitCommit'))
  const trees = named.flatMap(each => digestOf(each, 'gitTree'))
  const [commit] = commits
  const [tree] = trees
  if (commit === undefined || tree === undefined || named.length !== 2 || commits.length !== 1 || trees.length !== 1) {
    return unusable('it is not on one commit and one tree')
  }
  const fault = isRecord(predicate) ? faultOf(predicate) : 'it says nothing of them'
  return fault === null ? { statement: value as unknown as Statement, subject: { commit, tree } } : unusable(fault)
}

const unusable = (fault: string): Fault => ({ reason: 'content_unusable', detail: `it is signed, but ${fault}` })

function parse(payload: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(payload))
  } catch {
    return undefined
  }
}

function digestOf(subject: unknown, algorithm: string): readonly string[] {
  const digest = isRecord(subject) ? subject['digest'] : undefined
  const value = isRecord(digest) ? digest[algorithm] : undefined
  return typeof value === 'string' && oid.test(value) ? [value] : []
}

/** Members that are objects, and those that are lists. */
const objects = ['session', 'publication', 'cost', 'environment', 'verification', 'log']
const lists = ['runs', 'runtimes', 'models', 'approvals']

/** Returns what a predicate lacks, or how it contradicts itself; null if nothing. */
function faultOf(predicate: Readonly<Record<string, unknown>>): string | null {
  const { signedAt, verification } = predicate
  const lacks = [
    ...objects.filter(name => !isRecord(predicate[name])),
    ...lists.filter(name => !isListOfRecords(predicate[name])),
  ]
  if (typeof signedAt !== 'string' || Number.isNaN(Date.parse(signedAt))) lacks.push('signedAt')
  const checks = isRecord(verification) ? verification['checks'] : undefined
  if (!isListOfRecords(checks)) lacks.push('verification.checks')
  if (lacks.length > 0) return `it lacks ${lacks.join(', ')}`
  const failed = (checks as readonly Readonly<Record<string, unknown>>[]).find(
    ({ required, state }) => required !== false && state !== 'passed' && state !== 'skipped',
  )
  return failed === undefined ? null : `its required check ${JSON.stringify(failed['name'])} has not passed`
}

const isListOfRecords = (value: unknown): boolean => Array.isArray(value) && value.every(isRecord)
