import type { Review, Session } from '@berth/client'
import { useMutation } from '@tanstack/react-query'
import { MessageSquare, SendHorizontal } from 'lucide-react'
import { useRef } from 'react'
import { berth } from '../api/client.ts'
import { queryClient, sessionQuery } from '../api/queries.ts'
import { useSessionCan } from '../session/use-session-can.ts'
import { Button } from '../ui/button.tsx'
import { counted } from '../ui/format.ts'
import { InlineProblem } from '../ui/states.tsx'
import { comments, useComments } from './comment-store.ts'
import { type LineComment, messageOf } from './line-comments.ts'
import { placeComments } from './place-comments.ts'
import { everyLine, readReviewFile } from './queries.ts'

const isWritten = ({ body }: LineComment) => body.trim() !== ''

/** Sends all comments as one message, so that the agent works on them together. */
export function CommentsBar({ session, review }: { session: Session; review: Review }) {
  const verdict = useSessionCan(session)('message')
  const written = useComments(session.id).filter(isWritten)
  // Kept until the comments change: sending them again after a lost answer must not admit them twice.
  const turn = useRef({ id: crypto.randomUUID(), message: '' })
  const send = useMutation({
    mutationFn: () =>
      comments.alone(session.id, async () => {
        // Another tab may have sent them since this one was drawn.
        const left = comments.read(session.id).filter(isWritten)
        if (left.length === 0) return
        const read = (number: number) => readReviewFile(session.id, review.revision, number, everyLine)
        const message = messageOf(await placeComments(left, review, read), review.revision)
        if (turn.current.message !== message) turn.current = { id: crypto.randomUUID(), message }
        await berth.call('submitTurn', { sessionId: session.id, turnId: turn.current.id, body: { message } })
        for (const { id } of left) comments.remove(session.id, id)
      }),
    onSuccess: async () => {
      await queryClient.invalidateQueries({ queryKey: sessionQuery(session.id).queryKey, exact: true })
    },
  })
  if (written.length === 0 && send.error === null) return null
  return (
    <div className="flex shrink-0 flex-col gap-2 border-t border-line bg-raised px-3 py-2">
      <InlineProblem error={send.error} />
      <div className="flex items-center gap-2 text-[0.8125rem]">
        <MessageSquare className="size-4 shrink-0 text-accent" aria-hidden />
        <span role="status">{counted(written.length, 'comment')}</span>
        <span className="ml-auto" />
        <Button
          variant="primary"
          hint="above"
          verdict={verdict}
          busy={send.isPending}
          disabled={written.length === 0}
          onClick={() => send.mutate()}
        >
          <SendHorizontal className="size-4" aria-hidden /> Send to the agent
        </Button>
      </div>
    </div>
  )
}
