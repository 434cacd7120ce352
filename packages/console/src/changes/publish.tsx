import type { Review, Session } from '@berth/client'
import { useMutation } from '@tanstack/react-query'
import { GitPullRequest } from 'lucide-react'
import { lazy, Suspense, useRef, useState } from 'react'
import { berth } from '../api/client.ts'
import { queryClient } from '../api/queries.ts'
import { useSessionCan } from '../session/use-session-can.ts'
import { Button } from '../ui/button.tsx'
import { Field, inputClass } from '../ui/field.tsx'
import { InlineProblem } from '../ui/states.tsx'
import { counted } from '../ui/words.ts'
import { draftOf } from './draft.ts'
import { publicationsQuery } from './queries.ts'

const Overlay = lazy(async () => ({ default: (await import('../ui/overlay.tsx')).Overlay }))

/** Publishes exactly the revision that is on screen. */
export function Publish({ session, review }: { session: Session; review: Review }) {
  const verdict = useSessionCan(session)('publish')
  // The revision is held from the press on: changes that arrive behind the dialog are not what was read.
  const [held, setHeld] = useState<Review | null>(null)
  return (
    <>
      <Button look="primary" verdict={verdict} onClick={() => setHeld(review)}>
        <GitPullRequest className="size-4" aria-hidden /> Publish…
      </Button>
      {held !== null && (
        <Suspense>
          <Overlay title={`Open a pull request into ${held.targetBranch}`} onClose={() => setHeld(null)}>
            <PublishForm session={session} review={held} onDone={() => setHeld(null)} />
          </Overlay>
        </Suspense>
      )}
    </>
  )
}

function PublishForm({ session, review, onDone }: { session: Session; review: Review; onDone: () => void }) {
  const [form, setForm] = useState(() => ({ ...draftOf(session, review), draft: false }))
  const id = useRef(crypto.randomUUID())
  const publish = useMutation({
    mutationFn: () =>
      berth.publications.put(session.id, id.current, {
        revision: review.revision,
        title: form.title,
        body: form.body,
        draft: form.draft,
        delivery: 'pull_request',
      }),
    onSuccess: async () => {
      await queryClient.invalidateQueries({ queryKey: publicationsQuery(session.id).queryKey })
      onDone()
    },
  })
  const change = (part: Partial<typeof form>) => {
    id.current = crypto.randomUUID()
    setForm({ ...form, ...part })
  }
  return (
    <form
      className="flex flex-col gap-4 px-5 pb-5"
      onSubmit={event => {
        event.preventDefault()
        publish.mutate()
      }}
    >
      <p className="text-[0.8125rem] text-ink-2">
        Delivers {counted(review.files.length, 'file')} as you read them: revision{' '}
        <code className="font-mono text-xs">{review.revision.slice(0, 12)}</code>. If the changes have moved on, nothing
        is delivered.
      </p>
      <Field label="Title">
        {attributes => (
          <input
            {...attributes}
            required
            maxLength={256}
            value={form.title}
            onChange={event => change({ title: event.target.value })}
            className={inputClass}
          />
        )}
      </Field>
      <Field label="Description">
        {attributes => (
          <textarea
            {...attributes}
            rows={8}
            value={form.body}
            onChange={event => change({ body: event.target.value })}
            className={`${inputClass} font-mono text-xs leading-relaxed`}
          />
        )}
      </Field>
      <label className="flex items-center gap-2 text-[0.8125rem]">
        <input
          type="checkbox"
          className="accent-accent"
          checked={form.draft}
          onChange={event => change({ draft: event.target.checked })}
        />
        As a draft
      </label>
      <InlineProblem error={publish.error} />
      <div className="flex justify-end gap-2">
        <Button onClick={onDone}>Cancel</Button>
        <Button type="submit" look="primary" busy={publish.isPending} disabled={form.title.trim() === ''}>
          Open the pull request
        </Button>
      </div>
    </form>
  )
}
