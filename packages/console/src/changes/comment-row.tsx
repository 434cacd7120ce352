import { MessageSquare, Pencil, Trash2 } from 'lucide-react'
import { type KeyboardEvent, useState } from 'react'
import { Button, IconButton } from '../ui/button.tsx'
import { printableLine } from '../ui/printable.ts'
import { comments, useComments } from './comment-store.ts'
import type { PlacedComment } from './line-comments.ts'

const focus = (element: HTMLTextAreaElement | null) => element?.focus()

/** A comment below its line. It is written here, and kept until all comments are sent together. */
export function CommentRow({ sessionId, placed }: { sessionId: string; placed: PlacedComment }) {
  const { line, moved } = placed
  const comment = useComments(sessionId).find(({ id }) => id === placed.comment.id) ?? placed.comment
  const [draft, setDraft] = useState(comment.body === '' ? '' : null)
  // Each key stores the text, so the comment's body does not show this.
  const [isNew] = useState(comment.body === '')
  const where =
    line === null
      ? `Line ${comment.line} has changed or is not shown: ${printableLine(comment.quote).slice(0, 120)}`
      : moved
        ? `This line was line ${comment.line} when you wrote`
        : null
  const done = () => {
    if (draft === null) return
    if (draft.trim() === '' && comment.body === '') comments.remove(sessionId, comment.id)
    else if (draft.trim() !== '') comments.put(sessionId, { ...comment, body: draft.trim() })
    setDraft(null)
  }
  const onKeyDown = (event: KeyboardEvent) => {
    event.stopPropagation()
    if (event.key === 'Enter' && (event.metaKey || event.ctrlKey)) done()
    if (event.key === 'Escape') {
      if (comment.body === '') comments.remove(sessionId, comment.id)
      setDraft(null)
    }
  }
  return (
    <div className="border-y border-line bg-surface px-3 py-2.5 font-sans whitespace-normal lg:pl-12">
      <div className="max-w-2xl rounded-lg border border-line-strong bg-raised p-2.5">
        {where !== null && <p className="mb-1.5 text-xs wrap-anywhere text-warning">{where}</p>}
        {draft === null ? (
          <div className="flex items-start gap-2">
            <MessageSquare className="mt-0.5 size-4 shrink-0 text-accent" aria-hidden />
            <p className="min-w-0 flex-1 text-[0.8125rem] wrap-anywhere whitespace-pre-wrap">{comment.body}</p>
            <IconButton label="Edit the comment" className="size-7!" onClick={() => setDraft(comment.body)}>
              <Pencil className="size-3.5" aria-hidden />
            </IconButton>
            <IconButton
              label="Delete the comment"
              className="size-7!"
              onClick={() => comments.remove(sessionId, comment.id)}
            >
              <Trash2 className="size-3.5" aria-hidden />
            </IconButton>
          </div>
        ) : (
          <>
            <textarea
              ref={comment.body === '' ? focus : undefined}
              aria-label={`Comment on line ${line?.[comment.side] ?? comment.line} of ${printableLine(comment.path)}`}
              rows={3}
              maxLength={4_000}
              value={draft}
              onChange={event => {
                setDraft(event.target.value)
                // Each key is kept, so that a reload loses nothing.
                if (event.target.value.trim() !== '') comments.put(sessionId, { ...comment, body: event.target.value })
              }}
              onKeyDown={onKeyDown}
              placeholder="What should change here?"
              className="field-sizing-content max-h-60 min-h-16 w-full resize-none bg-transparent text-[0.8125rem] outline-none max-lg:text-base"
            />
            <div className="mt-1.5 flex items-center justify-end gap-2">
              <span className="mr-auto text-2xs text-ink-3 max-sm:hidden">Kept here until you send all comments</span>
              <Button
                variant="quiet"
                onClick={() => {
                  comments.remove(sessionId, comment.id)
                  setDraft(null)
                }}
              >
                Discard
              </Button>
              <Button variant="primary" disabled={draft.trim() === ''} onClick={done}>
                {isNew ? 'Add' : 'Save'}
              </Button>
            </div>
          </>
        )}
      </div>
    </div>
  )
}
