import { type Environment, type EnvironmentDraft, ifRevision } from '@berth/client'
import { changedMembers, complete, type PlainDocument, plain } from '@berth/client/documents'
import { useMutation } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { type UseFormReturn, useForm } from 'react-hook-form'
import { berth } from '../api/client.ts'
import { queryClient } from '../api/queries.ts'
import { type Base, edits } from './edits.ts'
import { emptyDocument, type FormValues, fromForm, toForm } from './form-values.ts'
import { formIssues, type Issue, type Refused, refusedBy, remainingIssues, schemaIssues } from './issues.ts'
import { environmentQuery } from './queries.ts'

/** A document that a person edits, as a form or as JSON. */
export interface DocumentEditor {
  readonly form: UseFormReturn<FormValues>
  readonly view: 'form' | 'json'
  readonly json: string
  /** The document as edited; null while the JSON view holds no object. */
  readonly draft: EnvironmentDraft | null
  readonly base: Base
  readonly dirty: boolean
  readonly issues: readonly Issue[]
  /** True once a save was tried: from then on missing members are named as well. */
  readonly attempted: boolean
  readonly saving: boolean
  /** Why the last save failed, unless that stands at the fields. */
  readonly problem: unknown
  changeJson(text: string): void
  /** Shows the other view. The form needs a document that it can hold. */
  show(view: 'form' | 'json'): void
  save(): Promise<Environment | null>
  /** Takes a document as edited, as if it had begun from a revision. */
  take(document: PlainDocument, base: Base): void
  discard(): void
}

const baseOf = (environment: Environment | null): Base =>
  environment === null
    ? { revision: null, document: emptyDocument }
    : { revision: environment.revision, document: plain(environment.document) }

const textOf = (document: PlainDocument): string => `${JSON.stringify(document, null, 2)}\n`

/**
 * Edits the document of an environment. Unsaved edits stay in the tab across reloads.
 *
 * @param newest null for an environment that does not exist yet
 * @param slot names the unsaved edits
 */
export function useDocumentEditor(id: string, newest: Environment | null, slot = id): DocumentEditor {
  const [start] = useState(() => edits.read(slot))
  const [base, setBase] = useState<Base>(start?.base ?? baseOf(newest))
  const [view, setView] = useState(start?.view ?? 'form')
  const [json, setJson] = useState(start?.json ?? '')
  const [refused, setRefused] = useState<Refused | null>(null)
  const [attempted, setAttempted] = useState(false)
  const form = useForm<FormValues>({ defaultValues: start?.values ?? toForm(base.document) })
  const values = form.watch()

  const draft = view === 'form' ? fromForm(values) : parseObject(json)
  const dirty = draft === null || changedMembers(base.document, complete(draft)).length > 0
  const issues =
    draft === null
      ? [{ path: [], message: 'This is no JSON object.' }]
      : [...schemaIssues(draft), ...(view === 'form' ? formIssues(values) : []), ...remainingIssues(refused, draft)]

  useEffect(() => edits.write(slot, dirty ? { base, view, values, json } : null))

  const take = (document: PlainDocument, from: Base) => {
    setBase(from)
    setJson(textOf(document))
    form.reset(toForm(document))
    setRefused(null)
    setAttempted(false)
    save.reset()
  }
  const save = useMutation({
    mutationFn: async (document: EnvironmentDraft) =>
      (
        await berth.call('putEnvironment', {
          environmentId: id,
          body: { document },
          headers: base.revision === null ? {} : ifRevision(base.revision),
        })
      ).environment,
    onSuccess: environment => {
      edits.write(slot, null)
      const saved = baseOf(environment)
      take(saved.document, saved)
      queryClient.setQueryData(environmentQuery(id).queryKey, environment)
      void queryClient.invalidateQueries({ queryKey: ['environments'] })
      void queryClient.invalidateQueries({ queryKey: ['environment', id, 'revisions'] })
    },
    onError: (error, document) => {
      setRefused(refusedBy(error, document))
      // If somebody has saved meanwhile, the newest revision shows the difference.
      void queryClient.invalidateQueries({ queryKey: ['environment', id], exact: true })
    },
  })

  // A revision that somebody else saved is taken over while there is nothing of one's own to lose.
  const isOlder = newest !== null && base.revision !== null && newest.revision > base.revision
  useEffect(() => {
    if (isOlder && !dirty) take(plain(newest.document), baseOf(newest))
  })

  return {
    form,
    view,
    json,
    draft,
    base,
    dirty,
    issues,
    attempted,
    saving: save.isPending,
    // Of a newer revision the comparison tells more.
    problem: refused !== null || isOlder ? null : save.error,
    changeJson: setJson,
    show(next) {
      if (next === 'json') setJson(textOf(complete(fromForm(form.getValues()))))
      else if (draft !== null) form.reset(toForm(complete(draft)))
      setView(next)
    },
    async save() {
      setAttempted(true)
      if (draft === null || issues.length > remainingIssues(refused, draft).length) return null
      return save.mutateAsync(draft).catch(() => null)
    },
    take,
    discard: () => {
      const fresh = baseOf(newest)
      take(fresh.document, fresh)
    },
  }
}

/** Returns the object of a text. Pins are the service's to write, so a copied document may hold them. */
function parseObject(text: string): EnvironmentDraft | null {
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return null
    const { secrets: _, ...document } = value as EnvironmentDraft
    return document
  } catch {
    return null
  }
}
