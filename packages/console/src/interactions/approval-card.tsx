import { BerthError, type DecisionChoice, type DecisionOutcome, type Interaction, type Session } from '@berth/client'
import { useMutation } from '@tanstack/react-query'
import { ShieldAlert } from 'lucide-react'
import { useRef } from 'react'
import { berth } from '../api/client.ts'
import { useNameOf } from '../api/people.ts'
import { interactionsQuery, queryClient } from '../api/queries.ts'
import { useSessionCan } from '../session/use-session-can.ts'
import { Button } from '../ui/button.tsx'
import { Clamped } from '../ui/clamped.tsx'
import { useSecond } from '../ui/clock.ts'
import { countdown } from '../ui/format.ts'
import { printable, printableLine } from '../ui/printable.ts'
import { InlineProblem } from '../ui/states.tsx'
import { actionOf, choicesOf, deedOf, isConnection, nounOf } from './approval-text.ts'
import { Card } from './card.tsx'
import { KeyButton } from './key-button.tsx'
import { useOfOpenSession } from './of-open-session.ts'
import { useKeys } from './use-keys.ts'

/** A live approval: the whole action, who may decide how far, and the time left. */
export function ApprovalCard(props: {
  interaction: Interaction
  session: Session
  /** Keys press its buttons: it is the first card. */
  keyed: boolean
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
  const sent = useRef(false)
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
      sent.current = false
      const outcome = earlierDecision(error)
      if (outcome !== null) props.onOverruled(outcome)
    },
    onSettled: () => queryClient.invalidateQueries({ queryKey: interactionsQuery(interaction.sessionId).queryKey }),
  })
  /** Pressing twice decides once. */
  const choose = (choice: DecisionChoice) => {
    if (sent.current) return
    sent.current = true
    decide.mutate(choice)
  }
  const choices = choicesOf(approval?.rememberScopes ?? [])
  const busy = decide.isPending || decide.isSuccess
  const live = useKeys(
    props.keyed && verdict.allowed && !busy && overruledBy === undefined,
    Object.fromEntries(choices.map(({ choice, key: pressedBy }) => [pressedBy, () => choose(choice)])),
  )
  if (approval === undefined) return null
  const action = actionOf(approval)
  // Most agents give a command as its own title, some as code, and a long one is cut.
  const title = (approval.title ?? '').replace(/^`(.*)`$/s, '$1')
  return (
    <Card
      icon={ShieldAlert}
      session={session}
      title={`Allow this ${nounOf(approval)}?`}
      aside={overruledBy === undefined && <Left deadlineMs={approval.deadline} />}
      actions={
        overruledBy === undefined ? (
          choices.map(({ choice, label, key: pressedBy }) => (
            <KeyButton
              key={choice}
              pressedBy={pressedBy}
              live={live}
              variant={choice === 'allow_once' ? 'primary' : 'plain'}
              verdict={verdict}
              disabled={busy}
              onClick={() => choose(choice)}
              className="max-sm:flex-1"
            >
              {label}
            </KeyButton>
          ))
        ) : (
          <Button onClick={props.onPutAway}>Dismiss</Button>
        )
      }
    >
      {title !== '' && !action.some(([, text]) => text.startsWith(title)) && (
        <p className="text-[0.8125rem] font-medium [overflow-wrap:anywhere]">
          <Clamped text={printableLine(title)} />
        </p>
      )}
      {approval.reason !== undefined && <p className="text-[0.8125rem] text-ink-2">{printable(approval.reason)}</p>}
      {action.map(([name, text]) => (
        <div key={name} className="flex flex-col gap-1">
          {name !== '' && <span className="font-mono text-xs text-ink-2">{printableLine(name)}</span>}
          <pre
            tabIndex={0}
            className="max-h-64 overflow-auto rounded-md border border-line bg-raised px-2.5 py-2 font-mono text-xs leading-relaxed [overflow-wrap:anywhere] whitespace-pre-wrap"
          >
            {printable(text)}
          </pre>
        </div>
      ))}
      <p className="text-xs text-ink-2">
        {printableLine(deedOf(approval))}
        {approval.toolName !== approval.kind && !isConnection(approval) && (
          <>
            , by <code className="font-mono">{printableLine(approval.toolName)}</code>
          </>
        )}
        .{choices.length > 2 && ` ${widerOf(approval)}`}
      </p>
      {overruledBy === undefined ? <InlineProblem error={decide.error} /> : <Winner {...overruledBy} />}
    </Card>
  )
}

/** The scope of the wider choices. */
const widerOf = (approval: Parameters<typeof isConnection>[0]): string =>
  isConnection(approval)
    ? 'The wider choices allow the host for longer; “For the environment” also proposes it for the document.'
    : `The wider choices allow every ${nounOf(approval)} of this tool.`

/** The time that is left by the server's clock. */
function Left({ deadlineMs }: { deadlineMs: number }) {
  const leftMs = deadlineMs - useSecond()
  return (
    <span className={`shrink-0 text-xs tabular-nums ${leftMs < 60_000 ? 'font-medium text-bad' : 'text-ink-2'}`}>
      {leftMs <= 0 ? 'time is up' : `${countdown(leftMs)} left`}
    </span>
  )
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
