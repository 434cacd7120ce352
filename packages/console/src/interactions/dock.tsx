import type { DecisionOutcome, Interaction, Session } from '@berth/client'
import { lazy, Suspense, useState } from 'react'
import { ApprovalCard } from './approval-card.tsx'
import { isForm, useOpen } from './first-open.ts'
import { useOfOpenSession } from './of-open-session.ts'

/** Their Run waits without a deadline, so they come when there is one. */
const PlanCard = lazy(async () => ({ default: (await import('./plan-card.tsx')).PlanCard }))
const FormCard = lazy(async () => ({ default: (await import('./form-card.tsx')).FormCard }))
const QuestionCard = lazy(async () => ({ default: (await import('./question-card.tsx')).QuestionCard }))

interface Overruled {
  readonly interaction: Interaction
  readonly outcome: Partial<DecisionOutcome>
}

/**
 * Open decisions, above the message box, so that scrolling never hides them. The oldest comes first. A decision that
 * somebody else answered first stays until it is dismissed: whoever pressed a button must learn its outcome. So
 * does a form in which somebody has begun to write: nobody's words go with another's answer. Keys press the buttons of
 * the first card alone.
 */
export function Dock({ session }: { session: Session }) {
  const { sessionId, only } = useOfOpenSession()
  const open = useOpen(session)
  const [overruled, setOverruled] = useState<readonly Overruled[]>([])
  const [begun, setBegun] = useState<readonly Interaction[]>([])
  const ids = new Set(open.map(({ id }) => id))
  const stays = only([...overruled.map(({ interaction }) => interaction), ...begun])
  const shown = [...stays.filter(({ id }) => !ids.has(id)), ...open]
  if (shown.length === 0 || session.id !== sessionId) return null
  // Of the latest list: an answer comes back to the card that asked, which may be gone.
  const keep = (id: string, ...added: Overruled[]) =>
    setOverruled(known => [...known.filter(({ interaction }) => interaction.id !== id), ...added])
  const toReply = (interaction: Interaction) => ({
    interaction,
    session,
    keyed: interaction.id === open[0]?.id,
    closed: !ids.has(interaction.id),
    onBegun: (is: boolean) =>
      setBegun(known => [...known.filter(({ id }) => id !== interaction.id), ...(is ? [interaction] : [])]),
  })
  return (
    <section
      aria-label={open.length === 0 ? 'Decided meanwhile' : 'Waiting for you'}
      className="flex max-h-[55dvh] scroll-pb-14 flex-col gap-2 overflow-y-auto"
    >
      <p role="status" className="sr-only">
        {open.length === 1 && 'The agent waits for you.'}
        {open.length > 1 && `The agent waits for ${open.length} answers.`}
      </p>
      <Suspense>
        {shown.map(interaction =>
          interaction.kind === 'approval' ? (
            <ApprovalCard
              key={interaction.id}
              interaction={interaction}
              session={session}
              keyed={interaction.id === open[0]?.id}
              overruledBy={overruled.find(each => each.interaction.id === interaction.id)?.outcome}
              onOverruled={outcome => keep(interaction.id, { interaction, outcome })}
              onPutAway={() => keep(interaction.id)}
            />
          ) : interaction.kind === 'exit_plan_mode' ? (
            <PlanCard key={interaction.id} {...toReply(interaction)} />
          ) : isForm(interaction) ? (
            <FormCard key={interaction.id} {...toReply(interaction)} />
          ) : (
            <QuestionCard key={interaction.id} {...toReply(interaction)} />
          ),
        )}
      </Suspense>
    </section>
  )
}
