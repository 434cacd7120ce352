import type { Interaction, Session } from '@berth/client'
import { useQuery } from '@tanstack/react-query'
import { interactionsQuery } from '../api/queries.ts'
import { ApprovalCard } from './approval-card.tsx'
import { PlanCard } from './plan-card.tsx'
import { QuestionCard } from './question-card.tsx'

/** What waits for people, above the message box, so that scrolling never hides it. The oldest comes first. */
export function Dock({ session }: { session: Session }) {
  const open = useQuery({ ...interactionsQuery(session.id), enabled: session.archivedAt === undefined }).data ?? []
  if (open.length === 0) return null
  return (
    <section aria-label="Waiting for you" className="flex max-h-[55dvh] scroll-pb-14 flex-col gap-2 overflow-y-auto">
      <p role="status" className="sr-only">
        {open.length === 1 ? 'The agent waits for you.' : `The agent waits for ${open.length} answers.`}
      </p>
      {open.map(interaction => (
        <Card key={interaction.id} interaction={interaction} session={session} />
      ))}
    </section>
  )
}

function Card({ interaction, session }: { interaction: Interaction; session: Session }) {
  if (interaction.kind === 'approval') return <ApprovalCard interaction={interaction} session={session} />
  if (interaction.kind === 'exit_plan_mode') return <PlanCard interaction={interaction} session={session} />
  return <QuestionCard interaction={interaction} session={session} />
}
