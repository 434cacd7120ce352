import type { Interaction, Session } from '@berth/client'
import type { NextTurn } from '@berth/contract'
import { useMutation } from '@tanstack/react-query'
import { useRef, useState } from 'react'
import { berth } from '../api/client.ts'
import { queryClient, sessionQuery } from '../api/queries.ts'
import { useOfOpenSession } from '../interactions/of-open-session.ts'
import type { Attachment } from '../message/attachments.ts'
import { drafts } from './drafts.ts'

/** The draft of a Session's next message, and the ways to send it. */
export interface Outbox {
  readonly text: string
  readonly busy: boolean
  readonly error: unknown
  /** It was begun for something else: before the agent asked, or for a request that is closed. It is not sent. */
  readonly strays: boolean
  /** Makes it the request that the box sends now. */
  readonly keep: () => void
  readonly change: (text: string) => void
  /** Puts text before the draft. */
  readonly prepend: (text: string) => void
  /** Makes another message of it, as when its files change. */
  readonly touch: () => void
  readonly send: (attachments: readonly Attachment[]) => void
  /** Gives it to the agent at work, at its next step. */
  readonly steer: (attachments: readonly Attachment[]) => void
}

interface Letter {
  readonly steers: boolean
  /** The question or plan that it answers. */
  readonly answers: Interaction | undefined
  readonly message: string
  readonly attachments: readonly Attachment[]
}

/**
 * Keeps the draft of a Session's next message, also over a reload. While a Run is active, a message waits until it has
 * ended, behind an earlier one of the same person. While a question or a plan is open, a message answers it.
 */
export function useSend(
  session: Session,
  personId: string,
  waiting: NextTurn | null,
  question: Interaction | undefined,
  onSent: (attachments: readonly Attachment[]) => void,
): Outbox {
  const [text, setText] = useState(() => drafts.read(session.id))
  const [[firstId, firstSteerId]] = useState(() => drafts.readIds(session.id) ?? [])
  // Kept until the message changes: sending it again after a lost answer must not admit it twice.
  const turnId = useRef(firstId ?? crypto.randomUUID())
  // Of its own: a message that waits has the other id, and may have become a Turn.
  const steerId = useRef(firstSteerId ?? crypto.randomUUID())
  const [aim, setAim] = useState<string>()
  const { mustOwn } = useOfOpenSession()
  const renew = () => {
    turnId.current = crypto.randomUUID()
    steerId.current = crypto.randomUUID()
  }
  const change = (next: string) => {
    renew()
    drafts.write(session.id, next)
    if (text.trim() === '') setAim(question?.id)
    setText(next)
  }
  const latest = useRef(text)
  latest.current = text
  const sending = useMutation({
    mutationFn: async ({ steers, answers, message, attachments }: Letter) => {
      const id = turnId.current
      const files = attachments.length === 0 ? [] : await encodedFiles(attachments)
      if (steers) {
        const body = { message, mode: 'steer' as const, ...(files.length > 0 && { files }) }
        await berth.call('submitTurn', { sessionId: session.id, turnId: steerId.current, body })
        return
      }
      if (answers !== undefined) {
        mustOwn(answers)
        const { answerOf, sendAnswer } = await import('../interactions/send-answer.ts')
        await sendAnswer(answers, id, { message: answerOf(answers, message), ...(files.length > 0 && { files }) })
        return
      }
      // A message that waits has no files: the box does not let one through.
      if (session.activeRunId === undefined || files.length > 0) {
        await berth.call('submitTurn', {
          sessionId: session.id,
          turnId: id,
          body: { message, ...(files.length > 0 && { files }) },
        })
        return
      }
      const { leaveMessage } = await import('./leave-message.ts')
      await leaveMessage(session.id, personId, id, message, waiting)
    },
    onSuccess: async (_, { message, attachments }) => {
      onSent(attachments)
      // Text that was typed meanwhile stays, here and, if the person has left and come back, there.
      if (latest.current === message && [message, ''].includes(drafts.read(session.id))) change('')
      await queryClient.invalidateQueries({ queryKey: sessionQuery(session.id).queryKey, exact: true })
    },
  })
  // An answer on its way may close its request before it is known to have come.
  const strays = !sending.isPending && text.trim() !== '' && aim !== question?.id
  const post = (steers: boolean, attachments: readonly Attachment[]) => {
    if (sending.isPending || strays || text.trim() === '') return
    drafts.keepIds(session.id, [turnId.current, steerId.current])
    sending.mutate({ steers, answers: steers ? undefined : question, message: text, attachments })
  }
  return {
    text,
    busy: sending.isPending,
    error: sending.error,
    strays,
    keep: () => {
      renew()
      setAim(question?.id)
    },
    change,
    prepend: before => change(text.trim() === '' ? before : `${before}\n\n${text}`),
    touch: renew,
    send: attachments => post(false, attachments),
    steer: attachments => post(true, attachments),
  }
}

async function encodedFiles(attachments: readonly Attachment[]) {
  const { encoded } = await import('../message/attachments.ts')
  return Promise.all(attachments.map(encoded))
}
