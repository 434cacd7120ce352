import { ListChecks } from 'lucide-react'
import { useState } from 'react'
import { useSessionCan } from '../session/use-session-can.ts'
import { Markdown } from '../transcript/markdown.tsx'
import { Button } from '../ui/button.tsx'
import { inputClass } from '../ui/field.tsx'
import { printable, printableLine } from '../ui/printable.ts'
import { InlineProblem } from '../ui/states.tsx'
import { Answered } from './answered.tsx'
import { Card } from './card.tsx'
import { type ToReply, useReply } from './use-reply.ts'

/** A plan: it is approved as it stands, or sent back with a comment. */
export function PlanCard(props: ToReply) {
  const { interaction, session, closed, onBegun } = props
  const [comment, setComment] = useState('')
  const verdict = useSessionCan(session)('answer')
  const reply = useReply(props)
  const { prompt, plan, planTruncated } = interaction.request
  const commented = comment.trim() !== ''
  return (
    <Card
      icon={ListChecks}
      title={printableLine(prompt ?? 'The agent proposes a plan')}
      actions={
        closed ? undefined : (
          <>
            <Button
              look="primary"
              verdict={verdict}
              hint="above"
              busy={reply.isPending}
              disabled={commented}
              onClick={() => reply.mutate('approve')}
            >
              Approve the plan
            </Button>
            <Button
              verdict={verdict}
              hint="above"
              busy={reply.isPending}
              disabled={!commented}
              onClick={() => reply.mutate(comment)}
            >
              Send back
            </Button>
          </>
        )
      }
    >
      {plan !== undefined && (
        <div
          tabIndex={0}
          className="max-h-[32dvh] overflow-y-auto rounded-md border border-line bg-raised px-3.5 py-2.5"
        >
          <Markdown text={printable(plan)} />
        </div>
      )}
      {planTruncated === true && <p className="text-xs text-warning">The plan was too long and was cut.</p>}
      <textarea
        aria-label="Comment on the plan"
        placeholder="A comment sends the plan back"
        rows={1}
        value={comment}
        onChange={event => {
          setComment(event.target.value)
          onBegun(event.target.value.trim() !== '')
        }}
        className={`${inputClass} field-sizing-content max-h-32 resize-none`}
      />
      {closed ? <Answered onPutAway={() => onBegun(false)} /> : <InlineProblem error={reply.error} />}
    </Card>
  )
}
