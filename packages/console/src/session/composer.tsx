import type { Interaction, Session } from '@berth/client'
import { useRouteContext } from '@tanstack/react-router'
import { ArrowUp, Clock, CornerDownRight } from 'lucide-react'
import { type KeyboardEvent, lazy, type ReactNode, Suspense, useId, useState } from 'react'
import { firstOpen, isForm, useOpen } from '../interactions/first-open.ts'
import { FileButton } from '../message/file-button.tsx'
import { useAttachments, withSpoken } from '../message/use-attachments.ts'
import { InlineProblem } from '../ui/states.tsx'
import { commandsFor } from './commands.ts'
import type { Verdict } from './session-can.ts'
import { useNextTurn } from './use-next-turn.ts'
import { useSend } from './use-send.ts'
import { useSessionCan } from './use-session-can.ts'

/** Reading and typing need none of them, so they come behind the page. */
const VoiceButton = lazy(async () => ({ default: (await import('../message/voice-button.tsx')).VoiceButton }))
const NextTurnCard = lazy(async () => ({ default: (await import('./next-turn-card.tsx')).NextTurnCard }))
const CommandList = lazy(async () => ({ default: (await import('./command-list.tsx')).CommandList }))
const Stray = lazy(async () => ({ default: (await import('./stray.tsx')).Stray }))
const AttachmentList = lazy(async () => ({ default: (await import('../message/attachment-list.tsx')).AttachmentList }))

/**
 * The box for the next message. Enter sends, Shift Enter begins a line; a draft survives leaving the page. While
 * the agent works, the message waits until it has finished, unless the person gives it to the agent at work. While a
 * question or a plan is open, what is typed here answers it: nothing is queued behind an agent that waits for it.
 */
export function Composer({ session }: { session: Session }) {
  const can = useSessionCan(session)
  const { viewer } = useRouteContext({ from: '/shell' })
  const next = useNextTurn(session)
  const waiting = next?.refused === null ? next : null
  const own = next?.writtenBy.id === viewer.user.id
  const question = firstOpen(useOpen(session))
  const outbox = useSend(session, viewer.user.id, waiting, question, sent => files.forget(sent))
  const files = useAttachments(outbox.text, outbox.touch)
  const { attachments } = files
  const queues = session.activeRunId !== undefined && question === undefined
  const isAnswer = question !== undefined && !isForm(question)
  const refusal = outbox.strays
    ? ''
    : question !== undefined && !isAnswer
      ? 'Answer the questions above first.'
      : !queues
        ? null
        : waiting !== null && !own
          ? `A message of ${waiting.writtenBy.name} waits. Only one can wait at a time.`
          : next !== null && next.refused !== null
            ? 'Put the message that was not sent into the box first.'
            : attachments.length > 0
              ? 'A message that waits takes no files. Send it when the agent has finished.'
              : null
  const verdict: Verdict =
    refusal === null ? can(queues ? 'queue' : isAnswer ? 'answer' : 'message') : { allowed: false, reason: refusal }
  const wording = wordingFor(session, question)
  const steering = can('steer')
  if (session.archivedAt !== undefined && next === null) return null
  const submit = () => {
    if (verdict.allowed) outbox.send(attachments)
  }
  return (
    <form
      className="flex flex-col gap-1.5"
      {...files.drag}
      onSubmit={event => {
        event.preventDefault()
        submit()
      }}
    >
      {next !== null && (
        <Suspense>
          <NextTurnCard session={session} next={next} own={own} onText={outbox.prepend} />
        </Suspense>
      )}
      {outbox.strays ? (
        <Suspense>
          <Stray asks={question !== undefined} onKeep={outbox.keep} />
        </Suspense>
      ) : (
        <InlineProblem error={outbox.error} />
      )}
      {session.archivedAt === undefined && (
        <Box
          runtime={question === undefined ? session.runtime : ''}
          wording={wording}
          text={outbox.text}
          onChange={outbox.change}
          onSubmit={submit}
          files={files}
        >
          <FileButton onFiles={files.add} compact />
          <Suspense>
            <VoiceButton
              offered={viewer.features.transcription}
              onText={spoken => outbox.change(withSpoken(outbox.text, spoken))}
              compact
            />
          </Suspense>
          {steering.allowed && question === undefined && (
            <button
              type="button"
              aria-label="Steer now"
              title="Steer now: the agent reads it at its next step"
              aria-disabled={outbox.text.trim() === '' || outbox.busy}
              onClick={() => outbox.steer(attachments)}
              className="grid size-9 shrink-0 place-items-center rounded-lg text-ink-2 hover:bg-selected aria-disabled:cursor-default aria-disabled:text-ink-3"
            >
              <CornerDownRight className="size-4.5" aria-hidden />
            </button>
          )}
          <button
            type="submit"
            aria-label={wording.send}
            title={wording.send}
            aria-disabled={!verdict.allowed || outbox.text.trim() === '' || outbox.busy}
            className="flex h-9 min-w-9 shrink-0 items-center justify-center gap-1 rounded-lg bg-accent px-2 text-[0.8125rem] font-medium text-on-accent hover:bg-accent-hover aria-disabled:cursor-default aria-disabled:bg-selected aria-disabled:text-ink-3"
          >
            {isAnswer && <span>{wording.send}</span>}
            {queues ? <Clock className="size-4.5" aria-hidden /> : <ArrowUp className="size-4.5" aria-hidden />}
          </button>
        </Box>
      )}
      <p id="composer-note" className="min-h-4 px-1 text-2xs text-ink-3">
        {files.refused ?? (verdict.allowed ? '' : verdict.reason)}
      </p>
    </form>
  )
}

/** The words of the box: its name, the text while it is empty, and its button. */
interface Wording {
  readonly label: string
  readonly empty: string
  readonly send: string
}

function wordingFor({ activeRunId, continuation }: Session, question: Interaction | undefined): Wording {
  if (question !== undefined && !isForm(question)) {
    if (question.kind === 'exit_plan_mode')
      return { label: 'Changes to the plan', empty: 'Say what to change', send: 'Ask for changes' }
    const hasOptions = (question.request.questions?.[0]?.options.length ?? 0) > 0
    return { label: 'Your answer', empty: hasOptions ? 'Or answer in your own words' : 'Your answer', send: 'Answer' }
  }
  const label = 'Message to the agent'
  if (activeRunId !== undefined)
    return { label, empty: 'Say what comes next', send: 'Send when the agent has finished' }
  return {
    label,
    empty: continuation.state === 'fresh' ? 'What should the agent do?' : 'Ask for a change',
    send: 'Send',
  }
}

function Box(props: {
  /** Whose commands are offered. */
  runtime: string | undefined
  wording: Wording
  text: string
  onChange: (text: string) => void
  onSubmit: () => void
  files: ReturnType<typeof useAttachments>
  children: ReactNode
}) {
  const { runtime, wording, text, onChange, onSubmit, files } = props
  const id = useId()
  const offers = commandsFor(text, runtime)
  const [chosen, setChosen] = useState(0)
  const at = Math.min(chosen, offers.length - 1)
  const complete = (line: string | undefined) => {
    setChosen(0)
    if (line !== undefined) onChange(`${line}\n`)
  }
  const onKeyDown = (event: KeyboardEvent) => {
    if (offers.length > 0 && !event.nativeEvent.isComposing) {
      const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0
      if (step !== 0 || event.key === 'Tab' || event.key === 'Enter') {
        event.preventDefault()
        if (step === 0) complete(offers[at]?.line)
        else setChosen((at + step + offers.length) % offers.length)
        return
      }
    }
    // On a touch keyboard Enter is the only way to a new line.
    const plain = event.key === 'Enter' && !event.shiftKey && !event.nativeEvent.isComposing
    if (!plain || (!event.metaKey && !event.ctrlKey && matchMedia('(pointer: coarse)').matches)) return
    event.preventDefault()
    onSubmit()
  }
  return (
    <div
      className={`relative rounded-xl border p-1.5 focus-within:border-accent focus-within:outline-1 focus-within:outline-accent ${files.dropping ? 'border-accent bg-accent-soft' : 'border-control bg-raised'}`}
    >
      {offers.length > 0 && (
        <Suspense>
          <CommandList id={id} offers={offers} at={at} onChoose={complete} />
        </Suspense>
      )}
      {files.attachments.length > 0 && (
        <div className="p-1 pb-0">
          <Suspense>
            <AttachmentList attachments={files.attachments} onRemove={files.remove} />
          </Suspense>
        </div>
      )}
      <div className="flex flex-wrap items-end justify-end gap-x-0.5 pl-2">
        <textarea
          aria-label={wording.label}
          aria-describedby="composer-note"
          {...(offers.length > 0 && { 'aria-controls': id, 'aria-activedescendant': `${id}-${at}` })}
          rows={1}
          maxLength={100_000}
          value={text}
          onChange={event => onChange(event.target.value)}
          onKeyDown={onKeyDown}
          onPaste={files.onPaste}
          placeholder={wording.empty}
          className="field-sizing-content max-h-60 min-h-9 min-w-32 flex-1 resize-none bg-transparent py-2 leading-snug outline-none max-lg:text-base"
        />
        {props.children}
      </div>
    </div>
  )
}
