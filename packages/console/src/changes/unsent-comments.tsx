import { counted } from '../ui/format.ts'
import { useComments } from './comment-store.ts'

/** Reminds before a delivery of comments that the agent has not seen. */
export function UnsentComments({ sessionId }: { sessionId: string }) {
  const written = useComments(sessionId).filter(({ body }) => body.trim() !== '').length
  if (written === 0) return null
  return (
    <p className="rounded-md border border-warning-line bg-warning-soft px-3 py-2 text-[0.8125rem]">
      {counted(written, 'comment')} on these changes {written === 1 ? 'was' : 'were'} not sent to the agent.
    </p>
  )
}
