import type { Environment } from '@berth/client'
import { complete, type PlainDocument, plain } from '@berth/client/documents'
import { type Edits, edits } from './edits.ts'
import { emptyDocument, fromForm, toForm } from './form-values.ts'

type Checks = readonly PlainDocument['checks'][number][]

/**
 * Puts checks into the unsaved edits of an environment, where a person reads, changes and saves them. Other edits of this tab
 * stay, and so does each check that is there already.
 * @param environment null for one that is not saved yet
 * @param name of an environment that has none yet
 */
export function takeChecks(environment: Environment | null, checks: Checks, name = ''): void {
  const slot = environment?.id ?? 'new'
  edits.write(slot, withChecks(edits.read(slot), environment, checks, name))
}

/** Returns edits with checks added to them. */
export function withChecks(
  before: Edits | null,
  environment: Pick<Environment, 'revision' | 'document'> | null,
  checks: Checks,
  name: string,
): Edits {
  const saved = environment === null ? emptyDocument : plain(environment.document)
  const base = before?.base ?? { revision: environment?.revision ?? null, document: saved }
  const draft = before === null ? saved : complete(draftOf(before) ?? saved)
  const known = draft.checks.map(each => each.name)
  const document = {
    ...draft,
    name: draft.name === '' ? name : draft.name,
    checks: [...draft.checks, ...checks.filter(each => !known.includes(each.name))],
  }
  return { base, view: 'json', values: toForm(document), json: `${JSON.stringify(document, null, 2)}\n` }
}

/** Returns the document as edited; null if the text of the edits is no document. */
function draftOf({ view, values, json }: Edits): Parameters<typeof complete>[0] | null {
  if (view === 'form') return fromForm(values)
  try {
    const parsed: unknown = JSON.parse(json)
    return typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed) && 'name' in parsed
      ? (parsed as Parameters<typeof complete>[0])
      : null
  } catch {
    return null
  }
}
