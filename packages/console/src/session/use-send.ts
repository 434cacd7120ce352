import { BerthError, type Session } from '@berth/client'
import type { NextTurn } from '@berth/contract'
import { useMutation } from '@tanstack/react-query'
import { useRef, useState } from 'react'
import { berth, call } from '../api/client.ts'
import { nextTurnQuery, queryClient, sessionQuery, tellNextTurn } from '../api/queries.ts'
import type { Attachment } from '../message/attachments.ts'
import { drafts } from './drafts.ts'

/** The draft of a Session's next message, and the ways to send it. */
export interface Outbox {
  readonly text: string
  readonly busy: boolean
  readonly error: unknown
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
  readonly message: string
  readonly attachments: readonly Attachment[]
}

/**
 * Keeps the draft of a Session's next message, also over a reload. While a Run is active, a message waits until it has
 * ended, behind an earlier one of the same person.
 */
export function useSend(
  session: Session,
  personId: string,
  waiting: NextTurn | null,
  onSent: (attachments: readonly Attachment[]) => void,
): Outbox {
  const [text, setText] = useState(() => drafts.read(session.id))
  const [[firstId, firstSteerId]] = useState(() => drafts.readIds(session.id) ?? [])
  // Kept until the message changes: sending it again after a lost answer must not admit it twice.
  const turnId = useRef(firstId ?? crypto.randomUUID())
  // Of its own: a message that waits has the other id, and may have become a Turn.
  const steerId = useRef(firstSteerId ?? crypto.randomUUID())
  const renew = () => {
    turnId.current = crypto.randomUUID()
    steerId.current = crypto.randomUUID()
  }
  const change = (next: string) => {
    renew()
    drafts.write(session.id, next)
    setText(next)
  }
  const latest = useRef(text)
  latest.current = text
  const sending = useMutation({
    mutationFn: async ({ steers, message, attachments }: Letter) => {
      const id = turnId.current
      const files = attachments.length === 0 ? [] : await encodedFiles(attachments)
      if (steers) {
        const body = { message, mode: 'steer' as const, ...(files.length > 0 && { files }) }
        await berth.call('submitTurn', { sessionId: session.id, turnId: steerId.current, body })
        return
      }
      // A message that waits has no files: the box does not let one through.
      if (session.activeRunId === undefined || files.length > 0) {
        await berth.call('submitTurn', {
          sessionId: session.id,
          turnId: id,
          body: { message, ...(files.length > 0 && { files }) },
        })
      } else await leave(session.id, personId, id, message, waiting)
    },
    onSuccess: async (_, { message, attachments }) => {
      onSent(attachments)
      // Text that was typed meanwhile stays, here and, if the person has left and come back, there.
      if (latest.current === message && [message, ''].includes(drafts.read(session.id))) change('')
      await queryClient.invalidateQueries({ queryKey: sessionQuery(session.id).queryKey, exact: true })
    },
  })
  const post = (steers: boolean, attachments: readonly Attachment[]) => {
    if (sending.isPending || text.trim() === '') return
    drafts.keepIds(session.id, [turnId.current, steerId.current])
    sending.mutate({ steers, message: text, attachments })
  }
  return {
    text,
    busy: sending.isPending,
    error: sending.error,
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

/** Other devices leave messages too; a person is not that quick. */
const attempts = 3

/**
 * Leaves a message behind the one of the same person that waits. If that has changed or was sent meanwhile, it looks
 * again, so that no text is lost, and none is sent twice.
 */
async function leave(
  sessionId: string,
  personId: string,
  turnId: string,
  message: string,
  waiting: NextTurn | null,
): Promise<void> {
  const query = nextTurnQuery(sessionId)
  let next = waiting
  for (let attempt = 1; ; attempt++) {
    // The answer to an earlier attempt was lost.
    if (next?.turnId === turnId) return
    const body =
      next === null ? { turnId, message } : { turnId, message: `${next.message}\n\n${message}`, replaces: next.turnId }
    try {
      const { nextTurn } = await call<{ nextTurn: NextTurn | null }>('PUT', `sessions/${sessionId}/next-turn`, body)
      tellNextTurn(sessionId, nextTurn)
      return
    } catch (error) {
      const code = error instanceof BerthError ? error.code : null
      // Nobody else knows the id: the message is a Turn already.
      if (code === 'cloud_turn_conflict') return
      if (code !== 'cloud_next_turn_conflict' || attempt === attempts) throw error
      next = await queryClient.fetchQuery({ ...query, staleTime: 0 })
      if (next !== null && (next.refused !== null || next.writtenBy.id !== personId)) throw error
    }
  }
}
