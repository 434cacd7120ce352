import type { Session } from '@berth/client'
import { useMutation } from '@tanstack/react-query'
import { ArrowUp } from 'lucide-react'
import { type KeyboardEvent, useRef, useState } from 'react'
import { berth } from '../api/client.ts'
import { queryClient, sessionQuery } from '../api/queries.ts'
import { InlineProblem } from '../ui/states.tsx'
import { drafts } from './drafts.ts'
import { useSessionCan } from './use-session-can.ts'

/** The box for the next message. Enter sends, Shift Enter begins a line; what is typed survives leaving the page. */
export function Composer({ session }: { session: Session }) {
  const can = useSessionCan(session)
  const verdict = can('message')
  const [text, setText] = useState(() => drafts.read(session.id))
  // Kept until the message changes: sending it again after a lost answer must not admit it twice.
  const turnId = useRef(crypto.randomUUID())

  const send = useMutation({
    mutationFn: (message: string) => berth.turns.put(session.id, turnId.current, { message }),
    onSuccess: async () => {
      turnId.current = crypto.randomUUID()
      change('')
      await queryClient.invalidateQueries({ queryKey: sessionQuery(session.id).queryKey, exact: true })
    },
  })
  const change = (next: string) => {
    turnId.current = crypto.randomUUID()
    drafts.write(session.id, next)
    setText(next)
  }
  const submit = () => {
    if (verdict.allowed && !send.isPending && text.trim() !== '') send.mutate(text)
  }
  const onKeyDown = (event: KeyboardEvent) => {
    // On a touch keyboard Enter is the only way to a new line.
    const plain = event.key === 'Enter' && !event.shiftKey && !event.nativeEvent.isComposing
    if (!plain || (!event.metaKey && !event.ctrlKey && matchMedia('(pointer: coarse)').matches)) return
    event.preventDefault()
    submit()
  }
  if (session.archivedAt !== undefined) return null
  return (
    <form
      className="flex flex-col gap-1.5"
      onSubmit={event => {
        event.preventDefault()
        submit()
      }}
    >
      <InlineProblem error={send.error} />
      <div className="flex items-end gap-2 rounded-xl border border-control bg-raised p-1.5 pl-3.5 focus-within:border-accent focus-within:outline-1 focus-within:outline-accent">
        <textarea
          aria-label="Message to the agent"
          aria-describedby="composer-note"
          rows={1}
          maxLength={100_000}
          value={text}
          onChange={event => change(event.target.value)}
          onKeyDown={onKeyDown}
          placeholder={session.continuation.state === 'fresh' ? 'What should the agent do?' : 'Ask for a change'}
          className="field-sizing-content max-h-60 min-h-9 flex-1 resize-none bg-transparent py-2 leading-snug outline-none max-lg:text-base"
        />
        <button
          type="submit"
          aria-label="Send"
          title="Send"
          aria-disabled={!verdict.allowed || text.trim() === '' || send.isPending}
          className="grid size-9 shrink-0 place-items-center rounded-lg bg-accent text-on-accent hover:bg-accent-hover aria-disabled:cursor-default aria-disabled:bg-selected aria-disabled:text-ink-3"
        >
          <ArrowUp className="size-4.5" aria-hidden />
        </button>
      </div>
      <p id="composer-note" className="min-h-4 px-1 text-2xs text-ink-3">
        {verdict.allowed ? '' : verdict.reason}
      </p>
    </form>
  )
}
