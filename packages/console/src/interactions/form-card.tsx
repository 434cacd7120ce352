import { type Answer, answerMessage, faultOf, initialAnswer, isNumber, type Question } from '@berth/client'
import { MessageCircleQuestion } from 'lucide-react'
import { useId, useState } from 'react'
import { issueOf } from '../api/problem.ts'
import { useSessionCan } from '../session/use-session-can.ts'
import { Button } from '../ui/button.tsx'
import { inputClass } from '../ui/field.tsx'
import { printable, printableLine } from '../ui/printable.ts'
import { InlineProblem } from '../ui/states.tsx'
import { Answered } from './answered.tsx'
import { Card } from './card.tsx'
import { Key } from './key-button.tsx'
import { useKeys } from './use-keys.ts'
import { type ToReply, useReply } from './use-reply.ts'

/** Several questions, or one that takes several options: a digit chooses one, or leaves it out. */
export function FormCard(props: ToReply) {
  const { interaction, session, keyed, onBegun } = props
  const questions = interaction.request.questions ?? []
  const [answers, setAnswers] = useState<readonly Answer[]>(() => questions.map(initialAnswer))
  const [checked, setChecked] = useState(false)
  const verdict = useSessionCan(session)('answer')
  const reply = useReply(props)
  const faults = questions.map((question, at) => faultOf(question, answers[at] ?? initialAnswer(question)))
  // Formats and patterns are the service's to judge; it names the field.
  const issue = issueOf(reply.error)
  const refused = questions.findIndex(({ fieldId }, at) => (fieldId ?? String(at)) === issue?.path[1])
  const empty = answers.every(({ chosen, freeText }) => chosen.length === 0 && freeText.trim() === '')
  const [first] = questions
  const single = questions.length === 1
  const change = (at: number, answer: Answer) => {
    if (at === refused) reply.reset()
    setAnswers(answers.map((old, index) => (index === at ? answer : old)))
    onBegun(true)
  }
  const [{ chosen, freeText } = { chosen: [], freeText: '' }] = answers
  const digits = (first?.options ?? []).slice(0, 9).map((_, at) => {
    const toggled = chosen.includes(at) ? chosen.filter(other => other !== at) : [...chosen, at].sort((a, b) => a - b)
    return [String(at + 1), () => change(0, { chosen: toggled, freeText })] as const
  })
  const live = useKeys(single && keyed && verdict.allowed && !reply.busy, Object.fromEntries(digits))
  return (
    <Card
      icon={MessageCircleQuestion}
      session={session}
      title={single && first !== undefined ? printable(first.question) : 'The agent has questions'}
    >
      <form
        className="flex flex-col gap-3"
        onSubmit={event => {
          event.preventDefault()
          setChecked(true)
          if (!reply.lost && verdict.allowed && faults.every(fault => fault === undefined))
            reply.answer(answerMessage(questions, answers))
        }}
      >
        {questions.map((question, at) => (
          <QuestionFields
            key={at}
            question={question}
            titled={!single}
            digits={single ? live : null}
            answer={answers[at] ?? initialAnswer(question)}
            fault={(checked ? faults[at] : undefined) ?? (at === refused ? `It ${issue?.message}.` : undefined)}
            onChange={answer => change(at, answer)}
          />
        ))}
        {!reply.lost && refused === -1 && <InlineProblem error={reply.error} />}
        {reply.lost ? (
          <Answered onPutAway={() => onBegun(false)} />
        ) : (
          <div>
            <Button type="submit" variant="primary" verdict={verdict} hint="above" busy={reply.busy} disabled={empty}>
              Answer
            </Button>
          </div>
        )}
      </form>
    </Card>
  )
}

interface FieldsProps {
  readonly question: Question
  readonly titled: boolean
  /** Whether digits choose an option now; null where they never do. */
  readonly digits: boolean | null
  readonly answer: Answer
  readonly fault: string | undefined
  readonly onChange: (answer: Answer) => void
}

function QuestionFields({ question, titled, digits, answer, fault, onChange }: FieldsProps) {
  const name = useId()
  const many = question.multiSelect === true
  const choose = (at: number, on: boolean) => {
    const others = many ? answer.chosen.filter(other => other !== at) : []
    onChange({ chosen: on ? [...others, at].sort((a, b) => a - b) : others, freeText: many ? answer.freeText : '' })
  }
  const takesLabel =
    question.options.length === 0 || question.allowCustom === true || question.customFieldId !== undefined
  return (
    <fieldset className="flex min-w-0 flex-col gap-1.5" aria-describedby={`${name}-fault`}>
      <legend className={titled ? 'mb-1 text-[0.8125rem] font-medium' : 'sr-only'}>
        {question.header !== undefined && question.header !== question.question && titled && (
          <span className="mr-2 text-ink-3">{printableLine(question.header)}</span>
        )}
        {printable(question.question)}
        {question.required === true && <span className="text-ink-3"> (required)</span>}
      </legend>
      {question.options.length > 0 && (
        <div className="flex flex-wrap gap-1.5">
          {question.options.map((option, at) => (
            <label
              key={at}
              className="flex min-h-8 max-w-full items-center gap-2 rounded-md border border-line-strong bg-raised px-3 py-1 text-[0.8125rem] has-checked:border-accent has-checked:bg-accent-soft has-focus-visible:outline-2 has-focus-visible:outline-accent max-lg:min-h-10"
            >
              <input
                type={many ? 'checkbox' : 'radio'}
                name={name}
                className="accent-accent"
                checked={answer.chosen.includes(at)}
                onChange={event => choose(at, event.target.checked)}
              />
              <span className="[overflow-wrap:anywhere]">{printable(option)}</span>
              {question.recommendedIndex === at && <span className="text-xs text-ink-3">recommended</span>}
              {digits !== null && at < 9 && <Key live={digits}>{String(at + 1)}</Key>}
            </label>
          ))}
        </div>
      )}
      {takesLabel && (
        <input
          aria-label={question.options.length === 0 ? question.question : 'Another answer'}
          aria-invalid={fault !== undefined || undefined}
          placeholder={question.options.length === 0 ? 'Your answer' : 'Another answer'}
          inputMode={isNumber(question) ? 'decimal' : question.format === 'email' ? 'email' : 'text'}
          type={question.format === 'date' ? 'date' : 'text'}
          value={answer.freeText}
          onChange={event => onChange({ chosen: many ? answer.chosen : [], freeText: event.target.value })}
          className={inputClass}
        />
      )}
      <p id={`${name}-fault`} className={`text-xs text-bad ${fault === undefined ? 'sr-only' : ''}`}>
        {fault}
      </p>
    </fieldset>
  )
}
