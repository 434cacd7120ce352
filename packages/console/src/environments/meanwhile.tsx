import type { Environment } from '@berth/client'
import { changedMembers, complete, mergeDocuments, type PlainDocument, plain } from '@berth/client/documents'
import { lazy, Suspense, useState } from 'react'
import { Button } from '../ui/button.tsx'
import { Select } from '../ui/field.tsx'
import { LoadingLines } from '../ui/states.tsx'
import { memberLabel, memberText } from './document-labels.ts'
import type { DocumentEditor } from './use-document-editor.ts'

const LineDiff = lazy(() => import('../transcript/line-diff.tsx'))

/** Compares a person's edits with a revision that somebody saved meanwhile, and merges the two. */
export function Meanwhile({
  environment,
  editor,
  by,
}: {
  environment: Environment
  editor: DocumentEditor
  by: string
}) {
  const { base, draft } = editor
  const [kept, setKept] = useState<Readonly<Record<string, 'theirs' | 'mine'>>>({})
  if (base.revision === null || environment.revision <= base.revision || draft === null) return null
  const theirs = plain(environment.document)
  const mine = complete(draft)
  const { document, conflicts } = mergeDocuments(base.document, theirs, mine)
  const next = { revision: environment.revision, document: theirs }
  const isMine = (path: string) => kept[path] === 'mine'
  const result = conflicts.filter(isMine).reduce((merged, path) => copied(path, mine, merged), document)
  const changed = changedMembers(base.document, theirs)
  return (
    <section
      role="alert"
      aria-labelledby="meanwhile"
      className="mb-6 flex flex-col gap-3 rounded-lg border border-warning-line bg-warning-soft p-4"
    >
      <h2 id="meanwhile" className="text-sm font-semibold">
        {by} saved revision {environment.revision} meanwhile
      </h2>
      <p className="text-[0.8125rem]">
        You began from revision {base.revision}.{' '}
        {changed.length === 0
          ? 'The document itself is unchanged.'
          : `It changes ${changed.map(memberLabel).join(', ')}.`}{' '}
        {conflicts.length === 0
          ? 'Your edits go together with it.'
          : 'Choose whose change to keep where both of you changed the same.'}
      </p>
      {changed.map(member => (
        <Suspense key={member} fallback={<LoadingLines lines={2} label="the comparison" />}>
          <div className="flex flex-col gap-3 *:bg-canvas">
            <LineDiff file={comparison(member, base.document, theirs, `revision ${environment.revision}`)} />
            {changedMembers(base.document, mine).includes(member) && (
              <LineDiff file={comparison(member, base.document, mine, 'your edits')} />
            )}
          </div>
        </Suspense>
      ))}
      {conflicts.map(path => (
        <div key={path} className="flex flex-wrap items-center gap-2 text-[0.8125rem]">
          <span className="min-w-40 font-medium">{memberLabel(path)}</span>
          <Select
            aria-label={`Which change of ${memberLabel(path)} to keep`}
            className="max-w-56"
            value={kept[path] ?? 'theirs'}
            onChange={event => setKept({ ...kept, [path]: event.target.value === 'mine' ? 'mine' : 'theirs' })}
          >
            <option value="theirs">Keep revision {environment.revision}</option>
            <option value="mine">Keep my edit</option>
          </Select>
        </div>
      ))}
      <div className="flex flex-wrap gap-2">
        <Button variant="primary" onClick={() => editor.take(result, next)}>
          Go on from revision {environment.revision}
        </Button>
        <Button onClick={() => editor.take(theirs, next)}>Discard my edits</Button>
      </div>
    </section>
  )
}

function comparison(member: string, before: PlainDocument, after: PlainDocument, whose: string) {
  const text = (document: PlainDocument) => memberText((document as unknown as Record<string, unknown>)[member])
  return { path: `${memberLabel(member)}, ${whose}`, oldText: text(before), newText: text(after) }
}

/** Returns a document with the value at a path of another one; a path is a member, or one of its members. */
function copied(path: string, from: PlainDocument, into: PlainDocument): PlainDocument {
  const [member = '', ...inside] = path.split('.')
  const [source, target] = [from, into].map(document => (document as unknown as Record<string, unknown>)[member])
  if (inside.length === 0) return { ...into, [member]: source }
  const name = inside.join('.')
  const { [name]: _, ...others } = Object(target) as Record<string, unknown>
  const value = (Object(source) as Record<string, unknown>)[name]
  return { ...into, [member]: value === undefined ? others : { ...others, [name]: value } }
}
