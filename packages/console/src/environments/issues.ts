import { BerthError } from '@berth/client'
import { same } from '@berth/client/documents'
import { EnvironmentDraft } from '@berth/contract/environment'
import { environmentLimits } from '@berth/contract/limits'
import { Errors } from 'typebox/schema'
import type { FormValues } from './form-values.ts'

/** The faults of a document, and their places. */
export interface Issue {
  readonly path: readonly (string | number)[]
  readonly message: string
}

/** Rules whose pattern says nothing to people, by the end of their place in the schema. */
const messages: readonly (readonly [place: RegExp, message: string])[] = [
  [/propertyNames$/, 'needs letters, digits and _, and begins with no digit'],
  [/repository$/, 'is a repository as `owner/name`'],
  [/path$/, 'is one directory below /workspace: letters, digits, `.`, `_` and `-`'],
  [/catalog$/, 'is a slug of the catalog: small letters, digits and `-`'],
  [/hosts/, 'is no name such as api.example.com or *.example.com in lower case'],
  [/packages/, 'is the name of a Debian package: small letters, digits, `+`, `-` and `.`'],
  [/archive$/, 'is the digest of an archive, `sha256:` and 64 digits'],
]

/** Returns the faults of a document that the contract's schema finds. */
export function schemaIssues(document: unknown): readonly Issue[] {
  const [, errors] = Errors(EnvironmentDraft, document)
  return errors.flatMap(({ keyword, schemaPath, instancePath, params, message }) => {
    // Each member that they sum up has an error of its own.
    if (keyword === 'additionalProperties' || keyword === 'propertyNames') return []
    const path = pathOf(instancePath)
    if (keyword === 'required') return missing(path, params)
    if (keyword === 'boolean') return [{ path, message: 'is no member of an environment' }]
    if (keyword === 'minLength') return [{ path, message: 'must not be empty' }]
    const text = keyword === 'pattern' ? messages.find(([place]) => place.test(schemaPath))?.[1] : undefined
    return [{ path, message: text ?? message }]
  })
}

/** Returns the faults that only the form can have, because a document cannot say such a thing. */
export function formIssues({ variables }: FormValues): readonly Issue[] {
  const names = variables.map(({ name }) => name).filter(name => name !== '')
  const twice = names.filter((name, at) => names.indexOf(name) !== at)
  return [...new Set(twice)].map(name => ({ path: ['variables', name], message: 'is listed twice' }))
}

/** A document that the service has refused, with its reasons. */
export interface Refused {
  readonly document: unknown
  readonly issues: readonly Issue[]
}

/** Returns the faults that an error reports of a document; null if it is another error. */
export function refusedBy(error: unknown, document: unknown): Refused | null {
  if (!(error instanceof BerthError) || error.code !== 'environment_invalid') return null
  const issues = Array.isArray(error.fields['issues']) ? (error.fields['issues'] as readonly Issue[]) : []
  return { document, issues: issues.map(({ path, message }) => ({ path: path.slice(1), message })) }
}

/** Returns the reasons of a refusal that still hold: a member that was edited since is no longer blamed. */
export function remainingIssues(refused: Refused | null, document: unknown): readonly Issue[] {
  return refused === null
    ? []
    : refused.issues.filter(({ path }) => same(valueAt(refused.document, path), valueAt(document, path)))
}

/** Returns the first fault at a place, or of a part of it. */
export function faultAt(issues: readonly Issue[], ...path: readonly (string | number)[]): string | undefined {
  const found = issues.find(issue => path.every((part, at) => String(issue.path[at]) === String(part)))
  if (found === undefined) return undefined
  const inside = found.path.slice(path.length)
  return `${inside.length === 0 ? '' : `${inside.join('.')} `}${found.message}`
}

/** Returns why a secret may not have this name or value; undefined if it may. */
export function secretFault(name: string, value: string): { readonly name?: string; readonly value?: string } {
  const size = new TextEncoder().encode(value).length
  return {
    ...(!/^[A-Za-z_][A-Za-z0-9_]{0,127}$/.test(name) && {
      name: 'Needs letters, digits and _, at most 128, and begins with no digit.',
    }),
    ...(size > environmentLimits.secretBytes && {
      value: `Has ${size.toLocaleString('en')} bytes; at most ${environmentLimits.secretBytes.toLocaleString('en')} are possible.`,
    }),
  }
}

function missing(path: Issue['path'], params: object): readonly Issue[] {
  const names =
    'requiredProperties' in params && Array.isArray(params.requiredProperties) ? params.requiredProperties : []
  return names.map(name => ({ path: [...path, String(name)], message: 'is missing' }))
}

const pathOf = (pointer: string): Issue['path'] =>
  pointer
    .split('/')
    .slice(1)
    .map(part => part.replaceAll('~1', '/').replaceAll('~0', '~'))

function valueAt(document: unknown, path: Issue['path']): unknown {
  return path.reduce<unknown>((value, part) => (Object(value) as Record<string, unknown>)[String(part)], document)
}
