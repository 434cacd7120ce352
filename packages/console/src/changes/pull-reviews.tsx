import type { LocalPull, LocalReview, WriteLocalReview } from '@berth/contract'
import { useMutation } from '@tanstack/react-query'
import { useRef, useState } from 'react'
import { call } from '../api/client.ts'
import { queryClient } from '../api/queries.ts'
import { Markdown } from '../transcript/markdown.tsx'
import { Button } from '../ui/button.tsx'
import { Ago } from '../ui/dates.tsx'
import { Field, inputClass, Select } from '../ui/field.tsx'
import { printableLine } from '../ui/printable.ts'
import { InlineProblem } from '../ui/states.tsx'

const verbs: Readonly<Record<string, string>> = {
  approved: 'approved this',
  changes_requested: 'asked for changes',
  commented: 'commented',
}

/** The reviews of a pull request that Berth itself hosts, and while it is open a form for another one. */
export function PullReviews({ pull, repositoryId }: { pull: LocalPull; repositoryId: string }) {
  return (
    <section aria-label="Reviews" className="flex flex-col gap-3">
      {pull.reviews.length > 0 && (
        <ul className="flex flex-col gap-3">
          {pull.reviews.map(review => (
            <Review key={review.id} review={review} />
          ))}
        </ul>
      )}
      {pull.state === 'open' && <ReviewForm repositoryId={repositoryId} number={pull.number} />}
    </section>
  )
}

function Review({ review: { id, author, state, body, comments, createdAt } }: { review: LocalReview }) {
  return (
    <li id={id} className="min-w-0 rounded-lg border border-line px-4 py-3 text-[0.8125rem]">
      <p className="text-ink-2">
        <span className="font-medium text-ink">{printableLine(author.name)}</span> {verbs[state] ?? state}{' '}
        <Ago at={createdAt} />
      </p>
      {body.trim() !== '' && <Markdown text={body} />}
      {comments.map(comment => (
        <div key={comment.id} className="mt-2 border-l-2 border-line pl-3">
          <code className="font-mono text-xs wrap-anywhere text-ink-2">
            {printableLine(comment.path)}
            {comment.line === null ? '' : `:${comment.line}`}
          </code>
          <Markdown text={comment.body} />
        </div>
      ))}
    </li>
  )
}

const empty = { state: 'commented' as WriteLocalReview['state'], text: '', path: '', line: '' }

/** Sends a review. Until it is written the same one is sent again, so that a retry writes it once. */
function ReviewForm({ repositoryId, number }: { repositoryId: string; number: number }) {
  const [form, setForm] = useState(empty)
  const id = useRef(crypto.randomUUID())
  const send = useMutation({
    mutationFn: () =>
      call('PUT', `local-repositories/${repositoryId}/pulls/${number}/reviews/${id.current}`, toReview(form)),
    onSuccess: async () => {
      id.current = crypto.randomUUID()
      setForm(empty)
      await queryClient.invalidateQueries({ queryKey: ['local-pull', repositoryId] })
    },
  })
  const change = (part: Partial<typeof empty>) => {
    id.current = crypto.randomUUID()
    setForm({ ...form, ...part })
  }
  return (
    <form
      className="flex flex-col gap-3 rounded-lg border border-line px-4 py-3"
      onSubmit={event => {
        event.preventDefault()
        send.mutate()
      }}
    >
      <Field label="Review" hint="In Markdown. If an agent follows this pull request, it takes it up.">
        {attributes => (
          <textarea
            {...attributes}
            rows={3}
            maxLength={20_000}
            required={form.state !== 'approved'}
            value={form.text}
            onChange={event => change({ text: event.target.value })}
            className={inputClass}
          />
        )}
      </Field>
      <div className="grid grid-cols-[2fr_1fr_1fr] gap-3 max-sm:grid-cols-1">
        <Field label="File" hint="Leave it empty for the whole pull request.">
          {attributes => (
            <input
              {...attributes}
              maxLength={4096}
              value={form.path}
              onChange={event => change({ path: event.target.value })}
              className={`${inputClass} font-mono`}
            />
          )}
        </Field>
        <Field label="Line">
          {attributes => (
            <input
              {...attributes}
              type="number"
              min={1}
              max={10_000_000}
              disabled={form.path === ''}
              value={form.line}
              onChange={event => change({ line: event.target.value })}
              className={inputClass}
            />
          )}
        </Field>
        <Field label="Verdict">
          {attributes => (
            <Select
              {...attributes}
              value={form.state}
              onChange={event => change({ state: event.target.value as WriteLocalReview['state'] })}
            >
              <option value="commented">Comment</option>
              <option value="changes_requested">Ask for changes</option>
              <option value="approved">Approve</option>
            </Select>
          )}
        </Field>
      </div>
      {send.isError && <InlineProblem error={send.error} />}
      <div className="flex justify-end">
        <Button type="submit" variant="primary" busy={send.isPending}>
          Send
        </Button>
      </div>
    </form>
  )
}

function toReview({ state, text, path, line }: typeof empty): WriteLocalReview {
  if (path === '' || text.trim() === '') return { state, body: text }
  return { state, comments: [{ path, body: text, ...(line !== '' && { line: Number(line) }) }] }
}
