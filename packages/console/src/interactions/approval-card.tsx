import { BerthError, type DecisionChoice, type DecisionOutcome, type Interaction, type Session } from '@berth/client'
import { useMutation } from '@tanstack/react-query'
import { ShieldAlert } from 'lucide-react'
import { useRef } from 'react'
import { berth } from '../api/client.ts'
import { useNameOf } from '../api/people.ts'
import { interactionsQuery, queryClient } from '../api/queries.ts'
import { useSessionCan } from '../session/use-session-can.ts'
import { Button } from '../ui/button.tsx'
import { useSecond } from '../ui/clock.ts'
import { countdown } from '../ui/format.ts'
import { printable, printableLine } from '../ui/printable.ts'
import { InlineProblem } from '../ui/states.tsx'
import { choicesOf } from './approval-choices.ts'
import { Card } from './card.tsx'
import { useOfOpenSession } from './of-open-session.ts'

const confinements: Readonly<Record<string, string>> = {
  sandbox: 'In the sandbox.',
  network: 'In the sandbox, with the network.',
  outside: 'Outside the sandbox’s confinement.',
}

/** A live approval: the whole action, who may decide how far, and the time left. */
export function ApprovalCard(props: {
  interaction: Interaction
  session: Session
  /**
   * The decision that stands instead of the one that was made here. The dock keeps it, since the log may take this card
   * out of the list before the service refuses the decision: the card that comes back is a new one.
   */
  overruledBy: Partial<DecisionOutcome> | undefined
  /** Called when the decision of somebody else stands instead of this one's. */
  onOverruled: (outcome: Partial<DecisionOutcome>) => void
  onPutAway: () => void
}) {
  const { interaction, session, overruledBy } = props
  const approval = interaction.request.approval
  const verdict = useSessionCan(session)('decide')
  const { mustOwn } = useOfOpenSession()
  const key = useRef(crypto.randomUUID())
  const decide = useMutation({
    mutationFn: async (choice: DecisionChoice) =>
      berth.call('decideInteraction', {
        sessionId: mustOwn(interaction),
        interactionId: interaction.id,
        body: {
          requestId: approval?.requestId ?? interaction.id,
          choice,
          idempotencyKey: key.current,
        },
      }),
    onError: error => {
      const outcome = earlierDecision(error)
      if (outcome !== null) props.onOverruled(outcome)
    },
    onSettled: () => queryClient.invalidateQueries({ queryKey: interactionsQuery(interaction.sessionId).queryKey }),
  })
  if (approval === undefined) return null
  return (
    <Card
      icon={ShieldAlert}
      title={printableLine(approval.title ?? approval.toolName)}
      aside={overruledBy === undefined && <Left deadlineMs={approval.deadline} />}
      actions={
        overruledBy === undefined ? (
          choicesOf(approval.rememberScopes ?? []).map(({ choice, label }) => (
            <Button
              key={choice}
              look={choice === 'allow_once' ? 'primary' : 'plain'}
              verdict={verdict}
              hint="above"
              disabled={decide.isPending || decide.isSuccess}
              onClick={() => decide.mutate(choice)}
              className="max-sm:flex-1"
            >
              {label}
            </Button>
          ))
        ) : (
          <Button onClick={props.onPutAway}>Put away</Button>
        )
      }
    >
      {approval.reason !== undefined && <p className="text-[0.8125rem] text-ink-2">{printable(approval.reason)}</p>}
      {approval.input !== undefined && (
        <pre
          tabIndex={0}
          className="max-h-64 overflow-auto rounded-md border border-line bg-raised px-2.5 py-2 font-mono text-xs leading-relaxed [overflow-wrap:anywhere] whitespace-pre-wrap"
        >
          {printable(inputOf(approval.input))}
        </pre>
      )}
      <p className="text-xs text-ink-2">
        <code className="font-mono">{printableLine(approval.toolName)}</code>
        {approval.destination !== undefined && <> to {printableLine(approval.destination)}</>}
        {approval.confinement !== undefined && <> · {confinements[approval.confinement] ?? approval.confinement}</>}
      </p>
      {overruledBy === undefined ? <InlineProblem error={decide.error} /> : <Winner {...overruledBy} />}
    </Card>
  )
}

/** The time that is left by the server's clock. */
function Left({ deadlineMs }: { deadlineMs: number }) {
  const leftMs = deadlineMs - useSecond()
  return (
    <span className={`shrink-0 text-xs tabular-nums ${leftMs < 60_000 ? 'font-medium text-bad' : 'text-ink-2'}`}>
      {leftMs <= 0 ? 'time is up' : `${countdown(leftMs)} left`}
    </span>
  )
}

/** A single command is shown as it would be typed; anything else as the whole JSON. Nothing is cut. */
function inputOf(input: Readonly<Record<string, unknown>>): string {
  const names = Object.keys(input)
  const { command } = input
  return typeof command === 'string' && names.length === 1 ? command : JSON.stringify(input, null, 2)
}

/** Returns the decision that stands, if that is why one was refused. */
function earlierDecision(error: unknown): Partial<DecisionOutcome> | null {
  if (!(error instanceof BerthError) || error.code !== 'cloud_interaction_conflict') return null
  return Object(error.fields['outcome']) as Partial<DecisionOutcome>
}

/** Says who was quicker. */
function Winner({ choice, decidedBy }: Partial<DecisionOutcome>) {
  const nameOf = useNameOf()
  const name = decidedBy === undefined ? 'Somebody else' : printableLine(nameOf(decidedBy))
  const has = name === 'You' ? 'You have' : `${name} has`
  return (
    <p role="status" className="text-[0.8125rem]">
      {choice === undefined
        ? 'This is no longer open.'
        : `${has} ${choice === 'deny' ? 'denied' : 'allowed'} this already.`}
    </p>
  )
}
