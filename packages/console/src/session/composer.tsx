import type { Session } from '@berth/client'
import { useRouteContext } from '@tanstack/react-router'
import { ArrowUp, Clock, CornerDownRight } from 'lucide-react'
import { type KeyboardEvent, lazy, type ReactNode, Suspense, useId, useState } from 'react'
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
const AttachmentList = lazy(async () => ({ default: (await import('../message/attachment-list.tsx')).AttachmentList }))

/**
 * The box for the next message. Enter sends, Shift Enter begins a line; a draft survives leaving the page. While
 * the agent works, the message waits until it has finished, unless the person gives it to the agent at work.
 */
export function Composer({ session }: { session: Session }) {
  const can = useSessionCan(session)
  const { viewer } = useRouteContext({ from: '/shell' })
  const next = useNextTurn(session)
  const waiting = next?.refused === null ? next : null
  const own = next?.writtenBy.id === viewer.user.id
  const outbox = useSend(session, viewer.user.id, waiting, sent => files.forget(sent))
  const files = useAttachments(outbox.text, outbox.touch)
  const { attachments } = files
  const queues = session.activeRunId !== undefined
  const verdict: Verdict =
    queues && waiting !== null && !own
      ? { allowed: false, reason: `A message of ${waiting.writtenBy.name} waits. Only one can wait at a time.` }
      : queues && next !== null && next.refused !== null
        ? { allowed: false, reason: 'Put the message that was not sent into the box first.' }
        : queues && attachments.length > 0
          ? { allowed: false, reason: 'A message that waits takes no files. Send it when the agent has finished.' }
          : can(queues ? 'queue' : 'message')
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
      <InlineProblem error={outbox.error} />
      {session.archivedAt === undefined && (
        <Box session={session} text={outbox.text} onChange={outbox.change} onSubmit={submit} files={files}>
          <FileButton onFiles={files.add} compact />
          <Suspense>
            <VoiceButton
              offered={viewer.features.transcription}
              onText={spoken => outbox.change(withSpoken(outbox.text, spoken))}
              compact
            />
          </Suspense>
          {steering.allowed && (
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
            aria-label={queues ? 'Send when the agent has finished' : 'Send'}
            title={queues ? 'Send when the agent has finished' : 'Send'}
            aria-disabled={!verdict.allowed || outbox.text.trim() === '' || outbox.busy}
            className="grid size-9 shrink-0 place-items-center rounded-lg bg-accent text-on-accent hover:bg-accent-hover aria-disabled:cursor-default aria-disabled:bg-selected aria-disabled:text-ink-3"
          >
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

function Box(props: {
  session: Session
  text: string
  onChange: (text: string) => void
  onSubmit: () => void
  files: ReturnType<typeof useAttachments>
  children: ReactNode
}) {
  const { session, text, onChange, onSubmit, files } = props
  const id = useId()
  const offers = commandsFor(text, session.runtime)
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
  const question =
    session.activeRunId !== undefined
      ? 'Say what comes next'
      : session.continuation.state === 'fresh'
        ? 'What should the agent do?'
        : 'Ask for a change'
  return (
    <div
      className={`relative rounded-xl border p-1.5 focus-within:border-accent focus-within:outline-1 focus-within:outline-accent ${files.dropping ? 'border-accent bg-accent-soft' : 'border-control bg-raised'}`}
    >
      {offers.length > 0 && (
        <div
          id={id}
          role="listbox"
          aria-label="Commands"
          className="absolute inset-x-0 bottom-full mb-1.5 overflow-hidden rounded-lg border border-line bg-raised py-1 shadow-float"
        >
          {offers.map(({ line, what }, index) => (
            <div
              key={line}
              id={`${id}-${index}`}
              role="option"
              tabIndex={-1}
              aria-selected={index === at}
              onPointerDown={event => {
                event.preventDefault()
                complete(line)
              }}
              className="flex cursor-default items-baseline gap-3 px-3 py-1.5 text-[0.8125rem] aria-selected:bg-selected"
            >
              <span className="w-20 shrink-0 font-mono">{line}</span>
              <span className="min-w-0 truncate text-ink-2">{what}</span>
            </div>
          ))}
        </div>
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
          aria-label="Message to the agent"
          aria-describedby="composer-note"
          {...(offers.length > 0 && { 'aria-controls': id, 'aria-activedescendant': `${id}-${at}` })}
          rows={1}
          maxLength={100_000}
          value={text}
          onChange={event => onChange(event.target.value)}
          onKeyDown={onKeyDown}
          onPaste={files.onPaste}
          placeholder={question}
          className="field-sizing-content max-h-60 min-h-9 min-w-32 flex-1 resize-none bg-transparent py-2 leading-snug outline-none max-lg:text-base"
        />
        {props.children}
      </div>
    </div>
  )
}
