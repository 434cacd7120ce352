import { ListChecks } from 'lucide-react'
import { useSessionCan } from '../session/use-session-can.ts'
import { Markdown } from '../transcript/markdown.tsx'
import { printable, printableLine } from '../ui/printable.ts'
import { InlineProblem } from '../ui/states.tsx'
import { Answered } from './answered.tsx'
import { Card } from './card.tsx'
import { KeyButton } from './key-button.tsx'
import { useKeys } from './use-keys.ts'
import { type ToReply, useReply } from './use-reply.ts'

/** A plan, and the button that approves it as it stands. The message box says what to change. */
export function PlanCard(props: ToReply) {
  const { interaction, session, keyed, onBegun } = props
  const verdict = useSessionCan(session)('answer')
  const reply = useReply(props)
  const approve = () => reply.answer('approve')
  const live = useKeys(keyed && verdict.allowed && !reply.busy, { a: approve })
  const { prompt, plan, planTruncated } = interaction.request
  return (
    <Card
      icon={ListChecks}
      session={session}
      title={printableLine(prompt ?? 'The agent proposes a plan')}
      actions={
        reply.lost ? undefined : (
          <KeyButton
            pressedBy="a"
            live={live}
            variant="primary"
            verdict={verdict}
            busy={reply.busy}
            onClick={approve}
            className="max-sm:flex-1"
          >
            Approve the plan
          </KeyButton>
        )
      }
    >
      {plan !== undefined && (
        <div
          tabIndex={0}
          className="max-h-[max(32dvh,12rem)] overflow-y-auto rounded-md border border-line bg-raised px-3.5 py-2.5"
        >
          <Markdown text={printable(plan)} />
        </div>
      )}
      {planTruncated === true && <p className="text-xs text-warning">The plan was too long and was cut.</p>}
      {reply.lost ? <Answered onPutAway={() => onBegun(false)} /> : <InlineProblem error={reply.error} />}
    </Card>
  )
}
