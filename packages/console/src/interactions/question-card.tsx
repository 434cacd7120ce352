import { answerMessage, initialAnswer, type Question } from '@berth/client'
import { MessageCircleQuestion } from 'lucide-react'
import { useSessionCan } from '../session/use-session-can.ts'
import { Button } from '../ui/button.tsx'
import { printable } from '../ui/printable.ts'
import { InlineProblem } from '../ui/states.tsx'
import { Answered } from './answered.tsx'
import { Card } from './card.tsx'
import { Key } from './key-button.tsx'
import { useKeys } from './use-keys.ts'
import { type ToReply, useReply } from './use-reply.ts'

/** An answer that one press gives. */
interface Offer {
  readonly label: string
  readonly note?: string
  readonly message: string
}

/** One question: a press or a digit answers with an option. The message box takes every other answer. */
export function QuestionCard(props: ToReply) {
  const { interaction, session, keyed, onBegun } = props
  const [question] = interaction.request.questions ?? []
  const verdict = useSessionCan(session)('answer')
  const reply = useReply(props)
  const offers = question === undefined ? [] : offersOf(question)
  const digits = offers.slice(0, 9).map(({ message }, at) => [String(at + 1), () => reply.answer(message)] as const)
  const live = useKeys(keyed && verdict.allowed && !reply.busy, Object.fromEntries(digits))
  return (
    <Card
      icon={MessageCircleQuestion}
      session={session}
      title={printable(question?.question ?? 'The agent has a question')}
    >
      {offers.length > 0 && !reply.lost && (
        <div className="flex flex-wrap gap-1.5">
          {offers.map(({ label, note, message }, at) => (
            <Button
              key={at}
              verdict={verdict}
              hint="above"
              disabled={reply.busy}
              onClick={() => reply.answer(message)}
              {...(live && at < 9 && { 'aria-keyshortcuts': String(at + 1) })}
              className="h-auto! min-h-8 max-w-full shrink! py-1 text-left whitespace-normal! max-lg:min-h-10"
            >
              <span className="min-w-0 [overflow-wrap:anywhere]">{printable(label)}</span>
              {note !== undefined && <span className="text-xs text-ink-3">{note}</span>}
              {at < 9 && <Key live={live}>{String(at + 1)}</Key>}
            </Button>
          ))}
        </div>
      )}
      {reply.lost ? <Answered onPutAway={() => onBegun(false)} /> : <InlineProblem error={reply.error} />}
    </Card>
  )
}

/** Returns the options of a question, or its default if it has none. */
function offersOf(question: Question): readonly Offer[] {
  const initial = initialAnswer(question)
  const { options, recommendedIndex } = question
  if (options.length === 0) {
    if (initial.freeText === '') return []
    return [{ label: initial.freeText, note: 'default', message: answerMessage([question], [initial]) }]
  }
  return options.map((label, at) => ({
    label,
    ...(recommendedIndex === at ? { note: 'recommended' } : initial.chosen.includes(at) && { note: 'default' }),
    message: answerMessage([question], [{ chosen: [at], freeText: '' }]),
  }))
}
