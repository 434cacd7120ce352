import type { DecisionOutcome, Interaction, Session } from '@berth/client'
import { useQuery } from '@tanstack/react-query'
import { lazy, Suspense, useState } from 'react'
import { interactionsQuery } from '../api/queries.ts'
import { useOfOpenSession } from './of-open-session.ts'

/** Comes right behind the page, before anything is asked: an approval has a deadline. */
const approvalCard = import('./approval-card.tsx')
// Where it is shown, its absence is told; here nobody waits for it.
approvalCard.catch(() => undefined)
const ApprovalCard = lazy(async () => ({ default: (await approvalCard).ApprovalCard }))
/** Their Run waits without a deadline, so they come when there is one. */
const PlanCard = lazy(async () => ({ default: (await import('./plan-card.tsx')).PlanCard }))
const QuestionCard = lazy(async () => ({ default: (await import('./question-card.tsx')).QuestionCard }))

interface Overruled {
  readonly interaction: Interaction
  readonly outcome: Partial<DecisionOutcome>
}

/**
 * Open decisions, above the message box, so that scrolling never hides them. The oldest comes first. A decision that
 * somebody else answered first stays until it is put away: whoever pressed a button must learn its outcome. So
 * does a plan or a question in which somebody has begun to write: nobody's words go with another's answer.
 */
export function Dock({ session }: { session: Session }) {
  const { sessionId, only } = useOfOpenSession()
  const listed = useQuery({ ...interactionsQuery(sessionId), enabled: session.archivedAt === undefined }).data
  const open = only(listed ?? [])
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
              overruledBy={overruled.find(each => each.interaction.id === interaction.id)?.outcome}
              onOverruled={outcome => keep(interaction.id, { interaction, outcome })}
              onPutAway={() => keep(interaction.id)}
            />
          ) : interaction.kind === 'exit_plan_mode' ? (
            <PlanCard key={interaction.id} {...toReply(interaction)} />
          ) : (
            <QuestionCard key={interaction.id} {...toReply(interaction)} />
          ),
        )}
      </Suspense>
    </section>
  )
}
